#include "runtime/cuda/codegen/plan_edit.h"

#include "lang/core/fused_body.h"
#include "lang/core/shape_rules.h"

namespace tg::cuda {

namespace {

/// Returns the type of a pointwise operator's result, as given by `infer`.
TensorType result_type(const Plan& plan, OpKind op, llvm::ArrayRef<PlanValueId> operands) {
  Symbols symbols;
  llvm::SmallVector<TypeId, 4> types;
  for (PlanValueId id : operands) types.push_back(symbols.type(plan.values[id].type));
  llvm::SmallVector<ValueId, 1> none;
  TypeId type;
  std::string why;
  bool typed = infer(symbols, op, none, types, type, &why);
  assert(typed && "the body of a fused_map is well typed");
  return typed ? symbols.type(type) : TensorType{};
}

void expand(PlanEdit& edit, const PlanStep& map, PlanStepId origin) {
  Expansion expansion(edit, map, origin);
  std::optional<FusedBody> body = parse_fused_body(map.attrs[0].text);
  llvm::SmallVector<PlanValueId, 8> stack;
  for (const FusedInstr& instr : body->code) {
    if (instr.is_operand) {
      stack.push_back(map.operands[instr.operand]);
      continue;
    }
    auto first = stack.end() - static_cast<ptrdiff_t>(op_info(instr.op).operand_count);
    std::vector<PlanValueId> operands(first, stack.end());
    stack.erase(first, stack.end());
    bool last = &instr == &body->code.back();
    PlanValueId result =
        last ? map.result : edit.value(result_type(edit.plan(), instr.op, operands));
    stack.push_back(expansion.emit(instr.op, {}, std::move(operands), result));
  }
}

} // namespace

EditedPlan expand_maps(const Plan& plan, const std::function<bool(const PlanStep&)>& wanted) {
  PlanEdit edit(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    bool alone = step.waits.empty() && step.signals.empty();
    if (step.op == OpKind::FusedMap && alone && wanted(step))
      expand(edit, step, s);
    else
      edit.emit(step, s);
  }
  return edit.finish();
}

EditedPlan expand_maps_before_softmax(const Plan& plan) {
  std::vector<size_t> readers(plan.values.size());
  std::vector<bool> by_softmax(plan.values.size());
  for (const PlanStep& step : plan.steps)
    for (PlanValueId id : step.operands) {
      if (id == kNoValue) continue;
      ++readers[id];
      by_softmax[id] = step.op == OpKind::Softmax;
    }
  return expand_maps(plan, [&](const PlanStep& step) {
    return step.phase == Phase::Run && by_softmax[step.result] && readers[step.result] == 1;
  });
}

} // namespace tg::cuda
