// What a plan would launch, without a device: the rewrites and the fusion of an executable, where
// measurements and libraries are asked nothing. Assumed is what they mostly answer: cuBLASLt takes
// every product that it has a layout for, cuDNN every convolution of more than a few terms, with an
// activation only if that is relu; images lie channels first; attention is left apart.
//
// Prices that must be had without a GPU are made of this (driver/analytic_groups.h).
#pragma once

#include "runtime/cuda/fusion.h"

namespace tg::cuda {

struct GroupedPlan {
  Plan plan; // as it is launched
  std::vector<Unit> units;
  /// Products that read and write through transposes have operands of other shapes than the
  /// operator wants (lower_products.h): as they were, and which each step was.
  Plan before;
  std::vector<PlanStepId> origin;
};

/// Errors: `no_kernel`, as fuse().
Result<GroupedPlan> group_plan(const Plan& plan);

} // namespace tg::cuda
