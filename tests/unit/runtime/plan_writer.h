// Builds plans by hand, for tests of the runtime, which does not include graphs.
// Steps run in the order in which they are added. Types come from infer,
// and lifetimes from finish().
#pragma once

#include "lang/core/shape_rules.h"
#include "runtime/plan.h"

#include <gtest/gtest.h>

namespace tg {

class PlanWriter {
public:
  PlanValueId input(const char* name, Shape shape) {
    PlanValueId id = value(PlanValue::Kind::Input, {DType::F32, shape}, name);
    plan_.inputs.push_back(id);
    return id;
  }
  PlanValueId weight(const char* path, Shape shape, const char* init = "") {
    PlanValueId id = value(PlanValue::Kind::Weight, {DType::F32, shape}, path);
    plan_.values[id].init = init;
    return id;
  }
  PlanValueId constant(Shape shape, std::vector<double> values) {
    PlanValueId id = value(PlanValue::Kind::Constant, {DType::F32, shape}, "");
    plan_.values[id].constant = std::move(values);
    return id;
  }
  PlanValueId load(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands) {
    return step(Phase::Load, op, std::move(attrs), std::move(operands));
  }
  PlanValueId run(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands) {
    return step(Phase::Run, op, std::move(attrs), std::move(operands));
  }
  /// Lets the last step overwrite this operand.
  void in_place(PlanValueId id) { plan_.steps.back().in_place = id; }
  PlanStep& last() { return plan_.steps.back(); }
  void output(const char* name, PlanValueId id) { plan_.outputs.push_back({name, id}); }

  Plan finish() {
    plan_.model = "test";
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      for (PlanValueId id : plan_.steps[s].operands) {
        if (id == kNoValue) continue;
        PlanValue& v = plan_.values[id];
        v.last_use = s;
        v.pinned |= v.kind == PlanValue::Kind::Temporary && plan_.steps[s].phase == Phase::Run &&
                    plan_.steps[v.defined_by].phase == Phase::Load;
      }
    for (const PlanOutput& output : plan_.outputs)
      plan_.values[output.value].is_output = plan_.values[output.value].pinned = true;
    EXPECT_EQ(verify(plan_), "");
    return plan_;
  }
  Plan& unfinished() { return plan_; }

private:
  PlanValueId value(PlanValue::Kind kind, TensorType type, const char* name) {
    PlanValue v;
    v.kind = kind;
    v.type = std::move(type);
    v.name = name;
    plan_.values.push_back(std::move(v));
    return static_cast<PlanValueId>(plan_.values.size() - 1);
  }

  PlanValueId step(Phase phase, OpKind op, std::vector<Value> attrs,
                   std::vector<PlanValueId> operands) {
    Symbols symbols;
    llvm::SmallVector<ValueId, 4> ids;
    for (const Value& attr : attrs) ids.push_back(symbols.value(attr));
    llvm::SmallVector<TypeId, 4> types;
    for (PlanValueId id : operands)
      types.push_back(id == kNoValue ? symbols.none_type() : symbols.type(plan_.values[id].type));
    TypeId type;
    std::string why;
    EXPECT_TRUE(infer(symbols, op, ids, types, type, &why)) << why;
    PlanStep step;
    step.op = op;
    step.phase = phase;
    for (ValueId id : ids) step.attrs.push_back(symbols.value(id));
    step.operands = std::move(operands);
    step.result = value(PlanValue::Kind::Temporary, symbols.type(type), "");
    plan_.values[step.result].defined_by = static_cast<PlanStepId>(plan_.steps.size());
    plan_.steps.push_back(std::move(step));
    return plan_.steps.back().result;
  }

  Plan plan_;
};

} // namespace tg
