// Computes the launches of a plan without a device: the rewrites and the fusion of an executable,
// but without measurements and libraries.
// The usual answers are assumed. cuBLASLt runs every product for which it has a layout.
// cuDNN runs every convolution of more than a few terms, with an activation only if that is relu,
// and attention in half types. Pools and norms are generated.
// The caller provides the prices of convolutions in either layout, by which layouts are chosen.
//
// Prices without a GPU are based on this (compiler/api/backends/cuda.cpp).
#pragma once

#include "runtime/cuda/codegen/fusion.h"
#include "runtime/cuda/cudnn/steps.h"

namespace tg::cuda {

struct GroupedPlan {
  Plan plan; // as launched
  std::vector<Unit> units;
  std::vector<bool> channels_last; // for each value; false for those beyond the end
  /// Products that read and write through transposes have operands of other shapes
  /// than the operator requires (lower_products.h). This is the plan before that rewrite,
  /// and the old number of each step.
  Plan before;
  std::vector<PlanStepId> origin;
};

/// Microseconds of a convolution whose images have a layout, and of converting an image.
struct AssumedPrices {
  std::function<double(const Plan&, const PlanStep&, bool channels_last)> convolution;
  std::function<double(const TensorType&)> conversion;
};
/// Layouts make no difference: all images stay channels first.
AssumedPrices equal_prices();

/// Errors: `no_kernel`, as fuse().
Result<GroupedPlan> group_plan(const Plan& plan, const AssumedPrices& prices = equal_prices());

/// Returns the assumed answers of cuDNN; it keeps the prices.
DnnAnswers assumed_answers(AssumedPrices prices);

} // namespace tg::cuda
