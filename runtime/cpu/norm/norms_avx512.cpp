// norms_impl.inc for AVX-512. Only norms.cpp refers to this table, after asking the processor.
#include "runtime/cpu/norm/norms.h"

#include <cstddef>

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define TG_LANES 16
#include "runtime/cpu/simd/simd_vector.inc"

#include "runtime/cpu/norm/norms_impl.inc"

namespace tg::cpu {
const NormTable kNormAvx512 = {"avx512", kLanes, squares};
}
