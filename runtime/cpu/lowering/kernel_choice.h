// Chooses between our kernel and oneDNN's for an operator that both can run: by rule,
// unless the other one was measured to be faster on this machine (tuning/choose_kernels.h).
#pragma once

#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Returns one line that describes an operator with everything that determines the faster kernel,
/// except the machine: types, values known at load, attributes, threads.
std::string operator_text(const Plan& plan, const PlanStep& step, int threads);

/// Requires that both kernels exist.
bool chooses_own_kernel(const Lowering& l, const PlanStep& step, bool by_rule);

} // namespace tg::cpu
