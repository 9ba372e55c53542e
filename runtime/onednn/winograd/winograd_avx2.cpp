// winograd_impl.inc for AVX2 with FMA. Only winograd_schedule.cpp refers to this table, after
// asking the processor.
#include "runtime/onednn/winograd/winograd.h"

#include <utility>

#pragma GCC target("avx2,fma")
#define TG_LANES 8
#include "runtime/onednn/simd/simd_vector.inc"
#include "runtime/onednn/winograd/winograd_impl.inc"

namespace tg::cpu {
const WinogradTable kWinogradAvx2 = {"avx2", input, product, output, most_rows};
}
