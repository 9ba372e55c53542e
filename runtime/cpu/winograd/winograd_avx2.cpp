// winograd_impl.inc for AVX2 with FMA. Only winograd_schedule.cpp refers to this table, after
// asking the processor.
#include "runtime/cpu/winograd/winograd.h"

#include <utility>

#pragma GCC target("avx2,fma")
#define TG_LANES 8
#include "runtime/cpu/simd/simd_vector.inc"
#include "runtime/cpu/winograd/winograd_impl.inc"

namespace tg::cpu {
const WinogradTable kWinogradAvx2 = {"avx2", input, product, output, most_rows};
}
