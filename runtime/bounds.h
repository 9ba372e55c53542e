// How far outputs may be from those of `ref` in f32 (max_rel_diff of tensor.h), by what a run
// computes in: for `tg run --check`, for graphs that are compared whole, and for the examples'
// test.
#pragma once

#include "lang/core/type.h"

namespace tg {

/// Sums in another order for f32; for the rest some times what the networks of examples/ come to
/// (tests/half_examples_test.py), since a wrong result is off by far more.
inline double difference_bound(DType computed_in, bool allow_tf32) {
  switch (computed_in) {
  case DType::F16: return 2e-2;
  case DType::BF16: return 1e-1;
  default: return allow_tf32 ? 1e-2 : 1e-4; // tf32 has f16's ten bits, in products alone
  }
}

} // namespace tg
