// simd_impl.inc for the base instruction set. Only simd.cpp refers to this table, after asking the
// processor.
#include "runtime/cpu/simd/simd.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// The target is the compiler's default, such as SSE2 on x86-64.
#define TG_LANES 4
#include "runtime/cpu/simd/simd_vector.inc"

#include "runtime/cpu/simd/simd_impl.inc"

#include "runtime/cpu/simd/rows_impl.inc"

namespace tg::cpu {
const SimdTable kSimdBase = {"base",
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
