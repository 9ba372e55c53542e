#include "runtime/cuda/codegen/plan_edit.h"

#include <llvm/ADT/STLExtras.h>

#include <utility>

namespace tg::cuda {

PlanEdit::PlanEdit(const Plan& plan) {
  edited_.plan = plan;
  edited_.plan.steps.clear();
}

PlanValueId PlanEdit::value(const TensorType& type) {
  PlanValue value;
  value.kind = PlanValue::Kind::Temporary;
  value.type = type;
  edited_.plan.values.push_back(std::move(value));
  return static_cast<PlanValueId>(edited_.plan.values.size() - 1);
}

PlanValueId PlanEdit::constant(const TensorType& type, double number) {
  return constant(type, std::vector<double>{number});
}

PlanValueId PlanEdit::constant(const TensorType& type, std::vector<double> elements) {
  PlanValueId id = value(type);
  edited_.plan.values[id].kind = PlanValue::Kind::Constant;
  edited_.plan.values[id].constant = std::move(elements);
  return id;
}

void PlanEdit::emit(PlanStep step, PlanStepId origin) {
  edited_.plan.steps.push_back(std::move(step));
  edited_.origin.push_back(origin);
}

EditedPlan PlanEdit::finish() {
  drop_unread();
  drop_undefined();
  renew_lifetimes();
  return std::move(edited_);
}

void PlanEdit::drop_unread() {
  Plan& plan = edited_.plan;
  std::vector<bool> read(plan.values.size());
  for (const PlanOutput& output : plan.outputs) read[output.value] = true;
  std::vector<PlanStep> steps;
  std::vector<PlanStepId> origin;
  for (size_t s = plan.steps.size(); s-- > 0;) {
    if (!read[plan.steps[s].result]) continue;
    for (PlanValueId operand : plan.steps[s].operands)
      if (operand != kNoValue) read[operand] = true;
    steps.push_back(std::move(plan.steps[s]));
    origin.push_back(edited_.origin[s]);
  }
  plan.steps.assign(std::make_move_iterator(steps.rbegin()), std::make_move_iterator(steps.rend()));
  edited_.origin.assign(origin.rbegin(), origin.rend());
}

/// Removes the temporaries of removed steps.
void PlanEdit::drop_undefined() {
  Plan& plan = edited_.plan;
  std::vector<bool> defined(plan.values.size());
  for (const PlanStep& step : plan.steps) defined[step.result] = true;
  std::vector<PlanValueId> renamed(plan.values.size(), kNoValue);
  std::vector<PlanValue> values;
  for (PlanValueId id = 0; id < plan.values.size(); ++id) {
    if (plan.values[id].kind == PlanValue::Kind::Temporary && !defined[id]) continue;
    renamed[id] = static_cast<PlanValueId>(values.size());
    values.push_back(std::move(plan.values[id]));
    edited_.values.push_back(id);
  }
  plan.values = std::move(values);
  for (PlanStep& step : plan.steps) {
    step.result = renamed[step.result];
    for (PlanValueId& id : step.operands)
      if (id != kNoValue) id = renamed[id];
  }
  for (PlanValueId& id : plan.inputs) id = renamed[id];
  for (PlanOutput& output : plan.outputs) output.value = renamed[output.value];
}

void PlanEdit::renew_lifetimes() {
  Plan& plan = edited_.plan;
  for (PlanValue& value : plan.values) {
    value.defined_by = value.last_use = kNever;
    value.pinned = value.is_output = false;
  }
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    PlanStep& step = plan.steps[s];
    plan.values[step.result].defined_by = s;
    for (PlanValueId operand : step.operands) {
      if (operand == kNoValue) continue;
      PlanValue& value = plan.values[operand];
      value.last_use = s;
      value.pinned |= value.kind == PlanValue::Kind::Temporary && step.phase == Phase::Run &&
                      plan.steps[value.defined_by].phase == Phase::Load;
    }
    step.in_place = kNoValue; // nothing is overwritten on a device
  }
  for (const PlanOutput& output : plan.outputs)
    plan.values[output.value].is_output = plan.values[output.value].pinned = true;
}

PlanValueId Expansion::step(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                            const TensorType& result) {
  return emit(op, std::move(attrs), std::move(operands), edit_.value(result));
}

PlanValueId Expansion::emit(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                            PlanValueId result) {
  PlanStep made;
  made.op = op;
  made.attrs = std::move(attrs);
  made.operands = std::move(operands);
  made.result = result;
  made.phase = replaced_.phase;
  made.stream = replaced_.stream;
  if (std::exchange(first_, false)) made.waits = replaced_.waits;
  if (result == replaced_.result) made.signals = replaced_.signals;
  edit_.emit(std::move(made), origin_);
  return result;
}

std::vector<PlanStepId> compose(llvm::ArrayRef<PlanStepId> first,
                                llvm::ArrayRef<PlanStepId> second) {
  std::vector<PlanStepId> composed;
  for (PlanStepId step : second) composed.push_back(step == kNever ? kNever : first[step]);
  return composed;
}

} // namespace tg::cuda
