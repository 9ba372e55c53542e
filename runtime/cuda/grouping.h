// What a plan would launch, without a device: the rewrites and the fusion of an executable, where
// measurements and libraries are asked nothing. Assumed is what they mostly answer: cuBLASLt takes
// every product that it has a layout for, cuDNN every convolution of more than a few terms, with an
// activation only if that is relu, and attention in half types; pools and norms are generated. What
// convolutions cost in either layout is for the caller to say: layouts are chosen by that.
//
// Prices that must be had without a GPU are made of this (compiler/api/backends/cuda.cpp).
#pragma once

#include "runtime/cuda/codegen/fusion.h"
#include "runtime/cuda/cudnn/steps.h"

namespace tg::cuda {

struct GroupedPlan {
  Plan plan; // as it is launched
  std::vector<Unit> units;
  std::vector<bool> channels_last; // of each value; of those beyond it false
  /// Products that read and write through transposes have operands of other shapes than the
  /// operator wants (lower_products.h): as they were, and which each step was.
  Plan before;
  std::vector<PlanStepId> origin;
};

/// Microseconds of a convolution whose images lie so, and of turning an image.
struct AssumedPrices {
  std::function<double(const Plan&, const PlanStep&, bool channels_last)> convolution;
  std::function<double(const TensorType&)> conversion;
};
/// Layouts make no difference: everything stays channels first.
AssumedPrices equal_prices();

/// Errors: `no_kernel`, as fuse().
Result<GroupedPlan> group_plan(const Plan& plan, const AssumedPrices& prices = equal_prices());

/// What is assumed of cuDNN; it keeps the prices.
DnnAnswers assumed_answers(AssumedPrices prices);

} // namespace tg::cuda
