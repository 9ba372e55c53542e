#include "runtime/cuda/attention.h"

#include <llvm/ADT/STLExtras.h>

#include <array>

namespace tg::cuda {

namespace {

constexpr llvm::StringLiteral kName = "attention";
/// Attributes: the extern's name and signature, the scale, then dims and strides of each tensor.
enum Slot : size_t { kScale = 2, kTensors = 3 };
enum Role : size_t { kQ, kK, kV, kO, kRoles };

Shape sizes(const Value& value) { return {value.ints.begin(), value.ints.end()}; }

/// A tensor of four axes as it lies in a value.
struct Seen {
  PlanValueId value = kNoValue;
  Shape dims, strides;
};

Shape permuted(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> axes) {
  Shape result;
  for (int64_t axis : axes) result.push_back(values[static_cast<size_t>(axis)]);
  return result;
}

class Finder {
public:
  explicit Finder(const Plan& plan) : plan_(plan), readers_(plan.values.size()) {
    for (PlanStepId s = 0; s < plan.steps.size(); ++s)
      for (PlanValueId id : plan.steps[s].operands)
        if (id != kNoValue) readers_[id].push_back(s);
  }

  /// The step that stands for everything that ends in the product `s`.
  std::optional<PlanStep> at(PlanStepId s) const {
    const PlanStep& context = plan_.steps[s];
    if (!plain_product(context)) return std::nullopt;
    const PlanStep* softmax = sole_maker(context.operands[0]);
    if (!softmax || softmax->op != OpKind::Softmax || softmax->attrs[0].number != 3)
      return std::nullopt;
    const PlanStep* scores = sole_maker(softmax->operands[0]);
    double scale = 1;
    if (scores && !scaled(scores, scale)) return std::nullopt;
    if (!scores || !plain_product(*scores)) return std::nullopt;
    std::array<Seen, kRoles> seen = {see(scores->operands[0]), see(scores->operands[1]),
                                     see(context.operands[1]), result_of(context.result)};
    std::swap(seen[kK].dims[2], seen[kK].dims[3]); // its product reads it turned
    std::swap(seen[kK].strides[2], seen[kK].strides[3]);
    return agree(seen) ? std::optional(step(context, seen, scale)) : std::nullopt;
  }

private:
  const TensorType& type(PlanValueId id) const { return plan_.values[id].type; }

  bool plain_product(const PlanStep& step) const {
    return step.op == OpKind::Matmul && step.phase == Phase::Run &&
           parse_act(step.attrs[0].text) == Act::None && step.operands[2] == kNoValue &&
           step.operands[3] == kNoValue && type(step.operands[0]).shape.size() == 4 &&
           type(step.operands[1]).shape.size() == 4 && is_float(type(step.result).dtype);
  }

  const PlanStep* maker(PlanValueId id) const {
    PlanStepId made = plan_.values[id].defined_by;
    if (made == kNever || plan_.steps[made].phase != Phase::Run) return nullptr;
    return &plan_.steps[made];
  }
  /// Null if anything else reads the value: then it has to be stored.
  const PlanStep* sole_maker(PlanValueId id) const {
    return readers_[id].size() == 1 && !plan_.values[id].is_output ? maker(id) : nullptr;
  }

  std::optional<double> number(PlanValueId id) const {
    const PlanValue& v = plan_.values[id];
    if (v.kind != PlanValue::Kind::Constant || v.constant.empty()) return std::nullopt;
    bool equal = llvm::all_of(v.constant, [&](double x) { return x == v.constant[0]; });
    return equal ? std::optional(v.constant[0]) : std::nullopt;
  }

  /// Steps over a multiplication or division by a number; false if it is by something else.
  bool scaled(const PlanStep*& scores, double& scale) const {
    if (scores->op != OpKind::Mul && scores->op != OpKind::Div) return true;
    std::optional<double> by = number(scores->operands[1]);
    PlanValueId from = scores->operands[0];
    if (!by && scores->op == OpKind::Mul) {
      by = number(from);
      from = scores->operands[1];
    }
    if (!by || *by == 0) return false;
    scale = scores->op == OpKind::Mul ? *by : 1 / *by;
    scores = sole_maker(from);
    return true;
  }

  /// Through one transpose of a run.
  Seen see(PlanValueId id) const {
    const PlanStep* move = maker(id);
    if (!move || move->op != OpKind::Transpose)
      return {id, type(id).shape, contiguous_strides(type(id).shape)};
    PlanValueId from = move->operands[0];
    Shape strides = permuted(contiguous_strides(type(from).shape), move->attrs[0].ints);
    return through({from, type(id).shape, strides}, strides);
  }
  /// A second one, as where heads are split off and keys turned.
  Seen through(Seen seen, const Shape& strides) const {
    const PlanStep* move = maker(seen.value);
    if (!move || move->op != OpKind::Transpose) return seen;
    // Strides of seen.value are those of a plain tensor: each names the axis that it belongs to.
    const Shape& shape = type(seen.value).shape;
    Shape plain = contiguous_strides(shape);
    Shape inner = permuted(contiguous_strides(type(move->operands[0]).shape), move->attrs[0].ints);
    for (size_t axis = 0; axis < seen.strides.size(); ++axis)
      for (size_t at = 0; at < plain.size(); ++at)
        if (strides[axis] == plain[at] && seen.dims[axis] == shape[at]) {
          seen.strides[axis] = inner[at];
          break;
        }
    seen.value = move->operands[0];
    return seen;
  }

  /// The result, as the only transpose that reads it wants it.
  Seen result_of(PlanValueId id) const {
    Seen plain{id, type(id).shape, contiguous_strides(type(id).shape)};
    if (readers_[id].size() != 1 || plan_.values[id].is_output) return plain;
    const PlanStep& move = plan_.steps[readers_[id][0]];
    if (move.op != OpKind::Transpose || move.phase != Phase::Run) return plain;
    Shape outer = contiguous_strides(type(move.result).shape);
    for (size_t axis = 0; axis < outer.size(); ++axis)
      plain.strides[static_cast<size_t>(move.attrs[0].ints[axis])] = outer[axis];
    plain.value = move.result;
    return plain;
  }

  /// Batches and heads are the same everywhere, and the width lies innermost.
  static bool agree(const std::array<Seen, kRoles>& seen) {
    const Shape &q = seen[kQ].dims, &k = seen[kK].dims, &v = seen[kV].dims;
    for (const Seen& each : seen)
      if (each.dims[0] != q[0] || each.dims[1] != q[1] || each.strides[3] != 1) return false;
    return q[3] == k[3] && k[2] == v[2];
  }

  static PlanStep step(const PlanStep& context, const std::array<Seen, kRoles>& seen,
                       double scale) {
    PlanStep step;
    step.op = OpKind::Extern;
    step.phase = context.phase;
    step.attrs = {Value::of_string(kName), Value::of_string(""), Value::of_float(scale)};
    for (const Seen& each : seen) {
      step.attrs.push_back(Value::of_ints(each.dims));
      step.attrs.push_back(Value::of_ints(each.strides));
    }
    step.operands = {seen[kQ].value, seen[kK].value, seen[kV].value};
    step.result = seen[kO].value;
    return step;
  }

  const Plan& plan_;
  std::vector<std::vector<PlanStepId>> readers_;
};

} // namespace

bool is_attention(const PlanStep& step) {
  return step.op == OpKind::Extern && step.attrs.size() == kTensors + 2 * kRoles &&
         step.attrs[0].text == kName;
}

EditedPlan fuse_attention(const Plan& plan,
                          const std::function<bool(const Plan&, const PlanStep&)>& takes) {
  Finder finder(plan);
  PlanEdit edit(plan);
  std::vector<bool> written(plan.values.size()); // by an attention, in place of its transpose
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    std::optional<PlanStep> whole = finder.at(s);
    if (whole && takes(plan, *whole)) {
      written[whole->result] = true;
      edit.emit(std::move(*whole), s);
    } else if (!written[plan.steps[s].result]) {
      edit.emit(plan.steps[s], s);
    }
  }
  return edit.finish();
}

DnnProblem attention_problem(const Plan& plan, const PlanStep& step) {
  DnnProblem problem;
  DType dtype = plan.values[step.result].type.dtype;
  DnnOp op;
  op.kind = DnnOp::Kind::Attention;
  for (size_t role = 0; role < kRoles; ++role) {
    DnnTensorId id = problem.graph.tensor(dtype, sizes(step.attrs[kTensors + 2 * role]),
                                          sizes(step.attrs[kTensors + 2 * role + 1]));
    problem.values.push_back(role == kO ? step.result : step.operands[role]);
    if (role == kO)
      op.result = id;
    else
      op.operands.push_back(id);
  }
  op.operands.push_back(problem.graph.number(static_cast<float>(step.attrs[kScale].real), 4));
  problem.values.push_back(kNoValue);
  problem.graph.ops.push_back(std::move(op));
  return problem;
}

} // namespace tg::cuda
