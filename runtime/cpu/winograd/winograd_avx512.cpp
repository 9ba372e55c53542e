// winograd_impl.inc for AVX-512. Only winograd_schedule.cpp refers to this table, after asking the
// processor.
#include "runtime/cpu/winograd/winograd.h"

#include <utility>

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define TG_LANES 16
#include "runtime/cpu/simd/simd_vector.inc"
#include "runtime/cpu/winograd/winograd_impl.inc"

namespace tg::cpu {
const WinogradTable kWinogradAvx512 = {"avx512", input, product, output, most_rows};
}
