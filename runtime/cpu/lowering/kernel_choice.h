// Whose kernel an operator runs on where both ours and oneDNN's can run it: as a rule says, unless
// it was measured on this machine that the other one is faster (tuning/choose_kernels.h).
#pragma once

#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// An operator with all that says which kernel is the faster one, but the machine: types, what is
/// known at load, attributes, threads. On a line.
std::string operator_text(const Plan& plan, const PlanStep& step, int threads);

/// Requires that there are both.
bool runs_on_ours(const Lowering& l, const PlanStep& step, bool by_rule);

} // namespace tg::cpu
