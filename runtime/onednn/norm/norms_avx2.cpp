// norms_impl.inc for AVX2. Only norms.cpp refers to this table, after asking the processor.
#include "runtime/onednn/norm/norms.h"

#include <cstddef>

#pragma GCC target("avx2,fma")
#define TG_LANES 8
#include "runtime/onednn/simd/simd_vector.inc"

#include "runtime/onednn/norm/norms_impl.inc"

namespace tg::cpu {
const NormTable kNormAvx2 = {"avx2", kLanes, squares};
}
