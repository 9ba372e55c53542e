// norms_impl.inc for AVX2. Only norms.cpp refers to this table, after asking the processor.
#include "runtime/cpu/norm/norms.h"

#include <cstddef>

#pragma GCC target("avx2,fma")
#define TG_LANES 8
#include "runtime/cpu/simd/simd_vector.inc"

#include "runtime/cpu/norm/norms_impl.inc"

namespace tg::cpu {
const NormTable kNormAvx2 = {"avx2", kLanes, squares};
}
