// Plans that time steps: values and steps appended one by one, Plan's invariants kept. What a step
// is timed among (measure.h, a backend's StepTimer) is for the caller to append.
#pragma once

#include "runtime/measure/measure.h"

#include <functional>

namespace tg {

class MeasurePlanBuilder {
public:
  explicit MeasurePlanBuilder(Plan& plan) : plan_(plan) { plan_.model = "measure"; }

  PlanValueId value(PlanValue::Kind kind, const TensorType& type, std::string name);
  /// Its result.
  PlanValueId step(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   const TensorType& type);
  void output(std::string name, PlanValueId value);

  /// An operand that a run makes or is given; those known at load are weights.
  using Operand = std::function<PlanValueId(const TensorType& type, std::string name)>;
  /// One copy of the step, with operands of its own; its result.
  PlanValueId copy(const StepSpec& spec, const Operand& operand);

private:
  Plan& plan_;
};

} // namespace tg
