// Padding consists of zeros, and a zero times an infinite or NaN weight is NaN
// (lang/core/semantics). Kernels skip the padding instead. Results whose window
// has such a weight in the padding are set to NaN after the kernel.
// The weights are searched once, at load if they are known then;
// if all are finite, a run reads one byte.
#pragma once

#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Makes the last op of a convolution, which was just lowered, write NaN where padding
/// is multiplied by weights that are not finite.
Result<void> guard_padding(Lowering& l, const PlanStep& step, const Geometry& geometry);

} // namespace tg::cpu
