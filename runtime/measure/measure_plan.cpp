#include "runtime/measure/measure_plan.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg {

PlanValueId MeasurePlanBuilder::value(PlanValue::Kind kind, const TensorType& type,
                                      std::string name) {
  PlanValue v;
  v.kind = kind;
  v.type = type;
  v.name = std::move(name);
  plan_.values.push_back(std::move(v));
  auto id = static_cast<PlanValueId>(plan_.values.size() - 1);
  if (kind == PlanValue::Kind::Input) plan_.inputs.push_back(id);
  return id;
}

PlanValueId MeasurePlanBuilder::step(OpKind op, std::vector<Value> attrs,
                                     std::vector<PlanValueId> operands, const TensorType& type) {
  auto s = static_cast<PlanStepId>(plan_.steps.size());
  PlanStep step;
  step.op = op;
  step.attrs = std::move(attrs);
  step.operands = std::move(operands);
  step.result = value(PlanValue::Kind::Temporary, type, "");
  plan_.values[step.result].defined_by = s;
  for (PlanValueId operand : step.operands)
    if (operand != kNoValue) plan_.values[operand].last_use = s;
  plan_.steps.push_back(std::move(step));
  return plan_.steps.back().result;
}

void MeasurePlanBuilder::output(std::string name, PlanValueId value) {
  plan_.values[value].is_output = plan_.values[value].pinned = true;
  plan_.outputs.push_back({std::move(name), value});
}

PlanValueId MeasurePlanBuilder::copy(const StepSpec& spec, const Operand& operand) {
  std::vector<PlanValueId> operands;
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    const TensorType& type = spec.operands[i];
    std::string name = llvm::formatv("operand{0}.{1}", i, plan_.steps.size());
    bool weight = i < 32 && (spec.weight_operands >> i & 1);
    operands.push_back(type.is_none() ? kNoValue
                       : weight       ? value(PlanValue::Kind::Weight, type, std::move(name))
                                      : operand(type, std::move(name)));
  }
  PlanValueId result = step(spec.op, spec.attrs, operands, spec.result);
  if (spec.in_place >= 0)
    plan_.steps.back().in_place = operands[static_cast<size_t>(spec.in_place)];
  return result;
}

} // namespace tg
