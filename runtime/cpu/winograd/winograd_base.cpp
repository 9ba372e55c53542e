// winograd_impl.inc for the base instruction set. Only winograd_schedule.cpp refers to this table,
// after asking the processor.
#include "runtime/cpu/winograd/winograd.h"

#include <utility>

// The target is the compiler's default, such as SSE2 on x86-64.
#define TG_LANES 4
#include "runtime/cpu/simd/simd_vector.inc"
#include "runtime/cpu/winograd/winograd_impl.inc"

namespace tg::cpu {
const WinogradTable kWinogradBase = {"base", input, product, output, most_rows};
}
