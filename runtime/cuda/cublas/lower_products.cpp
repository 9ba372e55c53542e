#include "runtime/cuda/cublas/lower_products.h"

#include "lang/core/op.h"

#include <algorithm>

namespace tg::cuda {

namespace {

Shape permuted_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes) {
  Shape plain = contiguous_strides(shape), strides;
  for (int64_t axis : axes) strides.push_back(plain[static_cast<size_t>(axis)]);
  return strides;
}

/// Returns the inverse permutation: the new position of each axis of the source.
Shape inverse(llvm::ArrayRef<int64_t> axes) {
  Shape at(axes.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i)
    at[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return at;
}

class Lowering {
public:
  Lowering(const Plan& plan, const CanMultiply& can, bool tf32)
      : plan_(plan), can_(can), tf32_(tf32), readers_(plan.values.size()),
        gone_(plan.steps.size(), false) {
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      for (PlanValueId operand : plan_.steps[s].operands)
        if (operand != kNoValue) readers_[operand].push_back(s);
    out_.plan = plan;
    out_.plan.steps.clear();
  }

  LoweredPlan run() {
    std::vector<std::optional<Product>> products(plan_.steps.size());
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      if (plan_.steps[s].op == OpKind::Matmul && plan_.steps[s].phase == Phase::Run)
        products[s] = lower(s);
    for (PlanStepId s = static_cast<PlanStepId>(plan_.steps.size()); s-- > 0;) drop_if_unread(s);
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s) {
      if (gone_[s]) continue;
      if (products[s])
        emit_product(s, std::move(*products[s]));
      else
        emit(plan_.steps[s], s, std::nullopt);
    }
    update_lifetimes();
    return std::move(out_);
  }

private:
  struct Product {
    PlanStep step;
    MatmulProblem problem;
    std::optional<OpKind> act = {}; // split off
  };

  /// Returns nullopt if the library does not support the product in any form.
  std::optional<Product> lower(PlanStepId s) {
    PlanStep step = plan_.steps[s];
    std::optional<OpKind> cut;
    std::optional<Act> act = parse_act(step.attrs[0].text);
    if (act && *act != Act::None && *act != Act::Relu) {
      cut = act_op(*act);
      step.attrs[0] = Value::of_enum("none");
    }
    MatmulStrides strides;
    std::optional<MatmulProblem> problem = admitted(step, strides);
    std::optional<PlanValueId> x =
        read_through(step, step.operands[0], strides, strides.x, problem);
    std::optional<PlanValueId> y =
        read_through(step, step.operands[1], strides, strides.y, problem);
    if (!problem) return std::nullopt;
    if (!cut && !take_gelu(step, *problem)) write_through(step, strides, *problem);
    if (x) replace_operand(s, step, 0, *x);
    if (y) replace_operand(s, step, 1, *y);
    return Product{std::move(step), *problem, cut};
  }

  std::optional<MatmulProblem> admitted(const PlanStep& step, const MatmulStrides& strides) const {
    std::optional<MatmulProblem> problem = matmul_problem(plan_, step, strides, tf32_);
    return problem && can_(*problem) ? problem : std::nullopt;
  }

  /// Returns the value of which `operand` is a transpose, if the product can read that value.
  std::optional<PlanValueId> read_through(const PlanStep& step, PlanValueId operand,
                                          const MatmulStrides& strides, Shape& own,
                                          std::optional<MatmulProblem>& problem) {
    PlanStepId made = plan_.values[operand].defined_by;
    if (made == kNever || plan_.steps[made].phase != Phase::Run || gone_[made]) return std::nullopt;
    const PlanStep& move = plan_.steps[made];
    if (move.op != OpKind::Transpose) return std::nullopt;
    PlanValueId from = move.operands[0];
    own = permuted_strides(plan_.values[from].type.shape, move.attrs[0].ints);
    if (std::optional<MatmulProblem> found = admitted(step, strides)) {
      problem = found;
      return from;
    }
    own.clear();
    return std::nullopt;
  }

  /// Merges the gelu into the product if it is the only reader of the product's result.
  bool take_gelu(PlanStep& step, MatmulProblem& problem) {
    if (problem.dtype == DType::F32 || problem.relu) return false;
    MatmulProblem whole = problem;
    whole.gelu = true;
    std::optional<FunctionSteps> gelu = find_gelu_tanh(plan_, step.result, readers_);
    if (!gelu || !can_(whole)) return false;
    problem = whole;
    step.result = gelu->result;
    for (PlanStepId s : gelu->steps) gone_[s] = true;
    return true;
  }

  /// Merges the transpose into the product if it is the only reader of the product's result.
  void write_through(PlanStep& step, MatmulStrides& strides, MatmulProblem& problem) {
    PlanValueId made = step.result;
    if (readers_[made].size() != 1 || plan_.values[made].is_output) return;
    PlanStepId reader = readers_[made][0];
    const PlanStep& move = plan_.steps[reader];
    if (move.op != OpKind::Transpose || step.operands[3] != kNoValue) return;
    const Shape& shape = plan_.values[move.result].type.shape;
    strides.result = permuted_strides(shape, inverse(move.attrs[0].ints));
    std::optional<MatmulProblem> found = admitted(step, strides);
    if (!found) return;
    problem = *found;
    step.result = move.result;
    gone_[reader] = true;
  }

  void replace_operand(PlanStepId s, PlanStep& step, size_t i, PlanValueId from) {
    std::vector<PlanStepId>& readers = readers_[step.operands[i]];
    readers.erase(std::find(readers.begin(), readers.end(), s));
    readers_[from].push_back(s);
    step.operands[i] = from;
  }

  /// Removes transposes that every product reads through.
  void drop_if_unread(PlanStepId s) {
    const PlanStep& step = plan_.steps[s];
    const PlanValue& result = plan_.values[step.result];
    bool wanted = step.op != OpKind::Transpose || step.phase != Phase::Run || result.is_output;
    if (gone_[s] || wanted || !readers_[step.result].empty()) return;
    gone_[s] = true;
    for (PlanValueId operand : step.operands) {
      std::vector<PlanStepId>& readers = readers_[operand];
      readers.erase(std::find(readers.begin(), readers.end(), s));
    }
  }

  void emit_product(PlanStepId s, Product product) {
    if (!product.act) return emit(std::move(product.step), s, product.problem);
    PlanStep act;
    act.op = *product.act;
    act.result = product.step.result;
    act.signals = std::move(product.step.signals);
    act.stream = product.step.stream;
    PlanValue middle;
    middle.kind = PlanValue::Kind::Temporary;
    middle.type = plan_.values[act.result].type;
    out_.plan.values.push_back(std::move(middle));
    product.step.result = static_cast<PlanValueId>(out_.plan.values.size() - 1);
    product.step.signals.clear();
    act.operands = {product.step.result};
    emit(std::move(product.step), s, product.problem);
    emit(std::move(act), s, std::nullopt);
  }

  void emit(PlanStep step, PlanStepId origin, std::optional<MatmulProblem> problem) {
    step.in_place = problem ? kNoValue : step.in_place;
    out_.plan.steps.push_back(std::move(step));
    out_.origin.push_back(origin);
    out_.problems.push_back(problem);
  }

  void update_lifetimes() {
    Plan& plan = out_.plan;
    for (PlanValue& value : plan.values) value.defined_by = value.last_use = kNever;
    for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
      plan.values[plan.steps[s].result].defined_by = s;
      for (PlanValueId operand : plan.steps[s].operands)
        if (operand != kNoValue) plan.values[operand].last_use = s;
    }
  }

  const Plan& plan_;
  const CanMultiply& can_;
  bool tf32_;
  std::vector<std::vector<PlanStepId>> readers_; // of values, with products in their final form
  std::vector<bool> gone_;
  LoweredPlan out_;
};

} // namespace

LoweredPlan lower_products(const Plan& plan, const CanMultiply& can, bool allow_tf32) {
  return Lowering(plan, can, allow_tf32).run();
}

} // namespace tg::cuda
