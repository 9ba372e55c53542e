#include "runtime/cuda/codegen/plan_edit.h"

#include "lang/core/shape_rules.h"

namespace tg::cuda {

namespace {

/// Emits the steps of one attention between its operands and its result.
class AttentionSteps : Expansion {
public:
  using Expansion::Expansion;

  void emit_all() {
    const std::vector<PlanValueId>& x = replaced().operands;
    TensorType scores = scores_type();
    PlanValueId at = product(x[0], x[1], edit().value(scores));
    if (x[3] != kNoValue) at = step(OpKind::Add, {}, {at, x[3]}, with(scores, x[3]));
    if (x[4] != kNoValue) {
      PlanValueId otherwise = edit().constant({scores.dtype, {}}, replaced().attrs[0].real);
      at = step(OpKind::Select, {}, {x[4], at, otherwise}, with(type(at), x[4]));
    }
    scores = type(at);
    at = step(OpKind::Softmax, {Value::of_int(scores.rank() - 1)}, {at}, scores);
    product(at, x[2], replaced().result);
  }

private:
  TensorType scores_type() const {
    TensorType q = type(replaced().operands[0]), keys = type(replaced().operands[1]);
    TensorType scores{q.dtype, {}};
    bool fit = broadcast_shapes(llvm::makeArrayRef(q.shape).drop_back(2),
                                llvm::makeArrayRef(keys.shape).drop_back(2), scores.shape);
    assert(fit && "type inference checks the shapes");
    (void)fit;
    scores.shape.append({q.shape.end()[-2], keys.shape.back()});
    return scores;
  }
  /// Returns the type of scores combined with a mask that broadcasts with them.
  TensorType with(const TensorType& scores, PlanValueId mask) const {
    TensorType both{scores.dtype, {}};
    bool fit = broadcast_shapes(type(mask).shape, scores.shape, both.shape);
    assert(fit && "type inference checks the shapes");
    (void)fit;
    return both;
  }

  PlanValueId product(PlanValueId x, PlanValueId y, PlanValueId result) {
    return emit(OpKind::Matmul, {Value::of_enum("none")}, {x, y, kNoValue, kNoValue}, result);
  }
};

} // namespace

EditedPlan expand_operators(const Plan& plan) {
  PlanEdit edit(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.op == OpKind::Attention)
      AttentionSteps(edit, step, s).emit_all();
    else if (step.op == OpKind::Resize)
      emit_resize(edit, step, s);
    else
      edit.emit(step, s);
  }
  return edit.finish();
}

} // namespace tg::cuda
