// A fused_map as the operators that it is made of: rules name chains of pointwise operators as one,
// but what becomes one kernel here is decided later (fusion.h), and rewrites of the plan look for
// what models spell. Only maps beside which such a rewrite looks are taken apart.
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"

#include <functional>

namespace tg::cuda {

EditedPlan expand_maps(const Plan& plan, const std::function<bool(const PlanStep&)>& wanted);

/// Those that a softmax alone reads.
EditedPlan expand_maps_before_softmax(const Plan& plan);

} // namespace tg::cuda
