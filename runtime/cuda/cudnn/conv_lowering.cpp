#include "runtime/cuda/cudnn/conv_lowering.h"

namespace tg::cuda {

namespace {

/// Returns the kernel from which a winograd_conv2d was made; kNoValue if only the transformed
/// kernel is given.
PlanValueId kernel_of(const Plan& plan, const PlanStep& step) {
  PlanStepId made = plan.values[step.operands[1]].defined_by;
  if (made == kNever || plan.steps[made].op != OpKind::WinogradWeight) return kNoValue;
  return plan.steps[made].operands[0];
}

} // namespace

EditedPlan lower_winograd(const Plan& plan) {
  PlanEdit edit(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    PlanStep step = plan.steps[s];
    PlanValueId kernel = kNoValue;
    if (step.op == OpKind::WinogradConv2d) kernel = kernel_of(plan, step);
    if (kernel != kNoValue) {
      step.op = OpKind::Conv2d;
      step.operands[1] = kernel;
      Value pad = step.attrs[0], act = step.attrs[1];
      step.attrs = {Value::of_ints({1, 1}), pad, Value::of_ints({1, 1}), act};
    }
    edit.emit(std::move(step), s);
  }
  return edit.finish();
}

EditedPlan cut_activations(const Plan& plan, const std::function<bool(const PlanStep&)>& cut) {
  PlanEdit edit(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    PlanStep step = plan.steps[s];
    std::optional<OpKind> act;
    if (step.op == OpKind::Conv2d) act = act_op(parse_act(step.attrs[3].text).value_or(Act::None));
    if (!act || !cut(step)) {
      edit.emit(std::move(step), s);
      continue;
    }
    PlanStep after;
    after.op = *act;
    after.phase = step.phase;
    after.result = step.result;
    after.operands = {edit.value(plan.values[step.result].type)};
    step.result = after.operands[0];
    step.attrs[3] = Value::of_enum("none");
    edit.emit(std::move(step), s);
    edit.emit(std::move(after), s);
  }
  return edit.finish();
}

bool has_few_terms(const Plan& plan, const PlanStep& convolution) {
  constexpr int64_t kFewTerms = 64;
  const Shape& w = plan.values[convolution.operands[1]].type.shape;
  return w[1] * w[2] * w[3] <= kFewTerms;
}

} // namespace tg::cuda
