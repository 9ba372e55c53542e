// simd_impl.inc for AVX2 with FMA. Only simd.cpp refers to this table, after asking the processor.
#include "runtime/cpu/simd/simd.h"

#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")
#define TG_LANES 8
#include "runtime/cpu/simd/simd_vector.inc"

#include "runtime/cpu/simd/simd_impl.inc"

#include "runtime/cpu/simd/rows_impl.inc"

namespace tg::cpu {
const SimdTable kSimdAvx2 = {"avx2",
                             apply,
                             fill,
                             spread,
                             scale,
                             from_bf16,
                             to_bf16,
                             cut_to_bf16,
                             from_f16,
                             to_f16,
                             from_bool,
                             to_bool,
                             sum,
                             max,
                             min,
                             max_rows,
                             max_rows_of_numbers,
                             mask_row,
                             softmax,
                             layer_norm,
                             squares_about,
                             normalise,
                             add_rows};
}
