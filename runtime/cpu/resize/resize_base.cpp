// resize_impl.inc for the base instruction set. Only resize.cpp refers to this table, after asking
// the processor.
#include "runtime/cpu/resize/resize.h"

// The target is the compiler's default, such as SSE2 on x86-64.
#define TG_LANES 4
#include "runtime/cpu/simd/simd_vector.inc"

namespace tg::cpu {
namespace {
TG_INLINE Vec gather(const float* x, IntVec at) {
  return Vec{x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
}
// Unused: without a permutation by variable indices, elements are read one by one.
TG_INLINE Vec pick(Vec low, IntVec at) {
  return Vec{low[at[0]], low[at[1]], low[at[2]], low[at[3]]};
}
TG_INLINE Vec pick(Vec low, Vec, IntVec at) { return pick(low, at); }
TG_INLINE float total(Vec v) { return (v[0] + v[2]) + (v[1] + v[3]); }
} // namespace
} // namespace tg::cpu

#include "runtime/cpu/resize/resize_impl.inc"

namespace tg::cpu {
const ResizeTable kResizeBase = {"base", kLanes, false, sum_rows, columns, select_rows, pixels};
}
