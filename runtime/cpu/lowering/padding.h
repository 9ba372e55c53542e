// Padding is zeros, and a zero times an infinite or NaN weight is NaN (lang/core/semantics).
// Kernels skip the padding instead. Results whose window has such a weight in the padding are made
// NaN behind the kernel: which weights these are is looked up once, at load where they are known,
// and where all are finite a run reads one byte.
#pragma once

#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Has the last op of a convolution, which was lowered just now, write NaN where padding meets
/// weights that are not finite.
Result<void> guard_padding(Lowering& l, const PlanStep& step, const Geometry& geometry);

} // namespace tg::cpu
