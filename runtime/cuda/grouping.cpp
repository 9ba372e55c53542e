#include "runtime/cuda/grouping.h"

#include "runtime/cuda/conv_lowering.h"
#include "runtime/cuda/layout.h"
#include "runtime/cuda/lower_products.h"

namespace tg::cuda {

namespace {

/// Activations that cuDNN has no fast engine for (patterns.h).
bool lacks_activation(const PlanStep& convolution) {
  std::optional<Act> act = parse_act(convolution.attrs[3].text);
  return act && *act != Act::None && *act != Act::Relu;
}

} // namespace

Result<GroupedPlan> group_plan(const Plan& plan) {
  EditedPlan plain = lower_winograd(plan);
  EditedPlan cut = cut_activations(plain.plan, lacks_activation);
  LoweredPlan lowered = lower_products(cut.plan, [](const MatmulProblem&) { return true; });
  GroupedPlan grouped{std::move(lowered.plan), {}, std::move(cut.plan), std::move(lowered.origin)};
  const PlanStep* first = grouped.plan.steps.data();
  auto by_library = [&](const PlanStep& step) {
    if (step.op == OpKind::Conv2d) return !has_few_terms(grouped.plan, step);
    return lowered.problems[static_cast<size_t>(&step - first)].has_value();
  };
  const std::vector<bool> channels_last; // none
  TG_TRY(grouped.units, fuse(grouped.plan, strides_of(grouped.plan, channels_last), by_library));
  return grouped;
}

} // namespace tg::cuda
