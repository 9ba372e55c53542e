// norms_impl.inc for the base instruction set. Only norms.cpp refers to this table, after asking
// the processor.
#include "runtime/cpu/norm/norms.h"

#include <cstddef>

// The target is the compiler's default, such as SSE2 on x86-64.
#define TG_LANES 4
#include "runtime/cpu/simd/simd_vector.inc"

#include "runtime/cpu/norm/norms_impl.inc"

namespace tg::cpu {
const NormTable kNormBase = {"base", kLanes, squares};
}
