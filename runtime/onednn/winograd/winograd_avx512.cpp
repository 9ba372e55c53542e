// winograd_impl.inc for AVX-512. Only winograd_schedule.cpp refers to this table, after asking the
// processor.
#include "runtime/onednn/winograd/winograd.h"

#include <utility>

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define TG_LANES 16
#include "runtime/onednn/simd/simd_vector.inc"
#include "runtime/onednn/winograd/winograd_impl.inc"

namespace tg::cpu {
const WinogradTable kWinogradAvx512 = {"avx512", input, product, output, most_rows};
}
