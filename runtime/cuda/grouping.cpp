#include "runtime/cuda/grouping.h"

#include "runtime/cuda/cublas/lower_products.h"
#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/conv_lowering.h"
#include "runtime/cuda/cudnn/problem.h"

namespace tg::cuda {

namespace {

/// Returns true for activations for which cuDNN has no fast engine (backend.h).
bool lacks_activation(const Plan&, const PlanStep& convolution) {
  std::optional<Act> act = parse_act(convolution.attrs[3].text);
  return act && *act != Act::None && *act != Act::Relu;
}

/// Returns true for half types and a head width that every version supports.
/// In strict f32 the library's engines refuse.
bool takes_attention(const Plan& plan, const PlanStep& step) {
  constexpr int64_t kWidths = 8, kMostWidth = 128;
  int64_t width = sizes_of_attention(step).width;
  return dtype_size(plan.values[step.result].type.dtype) == 2 && width % kWidths == 0 &&
         width <= kMostWidth;
}

} // namespace

AssumedPrices equal_prices() {
  return {[](const Plan&, const PlanStep&, bool) { return 1.0; },
          [](const TensorType&) { return 1.0; }};
}

DnnAnswers assumed_answers(AssumedPrices prices) {
  auto convolution = [of = std::move(prices.convolution)](const Plan& plan, const PlanStep& step,
                                                          bool last) -> std::optional<double> {
    if (!dnn_problem(plan, step, all_images(plan, last))) return std::nullopt;
    return of(plan, step, last);
  };
  return {takes_attention, lacks_activation, std::move(convolution), std::move(prices.conversion)};
}

Result<GroupedPlan> group_plan(const Plan& plan, const AssumedPrices& prices) {
  PlanWithLayouts laid =
      rewrite_for_dnn(lower_winograd(expand_operators(plan).plan).plan, assumed_answers(prices));
  LoweredPlan lowered = lower_products(
      laid.edited.plan, [](const MatmulProblem& problem) { return !has_few_rows(problem); });
  GroupedPlan grouped{std::move(lowered.plan),
                      {},
                      std::move(laid.channels_last),
                      std::move(laid.edited.plan),
                      std::move(lowered.origin)};
  const PlanStep* first = grouped.plan.steps.data();
  StridesOf strides = strides_of(grouped.plan, grouped.channels_last);
  auto by_library = [&](const PlanStep& step) {
    if (is_attention(step)) return true;
    if (step.op == OpKind::Conv2d)
      return !has_few_terms(grouped.plan, step) && dnn_problem(grouped.plan, step, strides);
    return lowered.problems[static_cast<size_t>(&step - first)].has_value();
  };
  TG_TRY(grouped.units, fuse(grouped.plan, strides, by_library));
  return grouped;
}

} // namespace tg::cuda
