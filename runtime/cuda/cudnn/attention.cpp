#include "runtime/cuda/cudnn/attention.h"

#include "runtime/cuda/cudnn/attention_step.h"

#include <llvm/ADT/STLExtras.h>

#include <array>

namespace tg::cuda {

namespace {

/// A tensor as stored in a value.
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

  /// Returns the attention that ends in the product `s`.
  std::optional<PlanStep> at(PlanStepId s) const {
    const PlanStep& context = plan_.steps[s];
    if (!plain_product(context)) return std::nullopt;
    const PlanStep* softmax = unshared_producer(context.operands[0]);
    size_t rank = type(context.result).shape.size(), width = rank - 1, places = rank - 2;
    if (!softmax || softmax->op != OpKind::Softmax ||
        softmax->attrs[0].number != static_cast<int64_t>(width))
      return std::nullopt;
    double scale = 1;
    const PlanStep* scores = scaled_product(softmax->operands[0], scale);
    if (!scores) return std::nullopt;
    std::array<Seen, kRoles> seen = {see(scores->operands[0]), see(scores->operands[1]),
                                     see(context.operands[1]), result_of(context.result)};
    std::swap(seen[kK].dims[places], seen[kK].dims[width]); // its product reads it transposed
    std::swap(seen[kK].strides[places], seen[kK].strides[width]);
    if (rank == 5 && !llvm::all_of(seen, merge_groups)) return std::nullopt;
    if (!agree(seen)) return std::nullopt;
    return step(context, seen, scale);
  }
  /// The same, found from the softmax.
  std::optional<PlanStep> around(const PlanStep& softmax) const {
    const std::vector<PlanStepId>& readers = readers_[softmax.result];
    std::optional<PlanStep> found = readers.size() == 1 ? at(readers[0]) : std::nullopt;
    return found && plan_.steps[readers[0]].operands[0] == softmax.result ? found : std::nullopt;
  }

private:
  const TensorType& type(PlanValueId id) const { return plan_.values[id].type; }

  bool plain_product(const PlanStep& step) const {
    return step.op == OpKind::Matmul && step.phase == Phase::Run &&
           parse_act(step.attrs[0].text) == Act::None && step.operands[2] == kNoValue &&
           step.operands[3] == kNoValue && is_float(type(step.result).dtype) &&
           has_heads(step.operands[0]) && has_heads(step.operands[1]) &&
           type(step.operands[0]).shape.size() == type(step.operands[1]).shape.size();
  }
  /// Returns true for [batch, heads, places, width], or for heads in groups that share keys
  /// and values: [batch, groups, heads per group, places, width].
  bool has_heads(PlanValueId id) const {
    size_t rank = type(id).shape.size();
    return rank == 4 || rank == 5;
  }

  /// Merges the heads of all groups into one axis; false if no single stride describes it.
  static bool merge_groups(Seen& seen) {
    bool one = seen.dims[2] == 1;
    if (!one && seen.dims[1] != 1 && seen.strides[1] != seen.dims[2] * seen.strides[2])
      return false;
    if (!one) seen.strides[1] = seen.strides[2];
    seen.dims[1] *= seen.dims[2];
    seen.dims.erase(seen.dims.begin() + 2);
    seen.strides.erase(seen.strides.begin() + 2);
    return true;
  }
  const PlanStep* maker(PlanValueId id) const {
    PlanStepId made = plan_.values[id].defined_by;
    if (made == kNever || plan_.steps[made].phase != Phase::Run) return nullptr;
    return &plan_.steps[made];
  }
  /// Returns null if the value has other readers, because then it must be stored.
  const PlanStep* unshared_producer(PlanValueId id) const {
    return readers_[id].size() == 1 && !plan_.values[id].is_output ? maker(id) : nullptr;
  }

  /// Returns a number as written, or rounded to a narrower type at load,
  /// as in a model converted to a narrower type.
  std::optional<double> number(PlanValueId id) const {
    PlanStepId made = plan_.values[id].defined_by;
    if (made != kNever && plan_.steps[made].op == OpKind::Cast) id = plan_.steps[made].operands[0];
    const PlanValue& v = plan_.values[id];
    if (v.kind != PlanValue::Kind::Constant || v.constant.empty()) return std::nullopt;
    bool equal = llvm::all_of(v.constant, [&](double x) { return x == v.constant[0]; });
    return equal ? std::optional(v.constant[0]) : std::nullopt;
  }

  /// Returns the product of queries and keys, possibly scaled by multiplication or division
  /// with a number, `scale`; null if there is none.
  const PlanStep* scaled_product(PlanValueId value, double& scale) const {
    const PlanStep* scores = unshared_producer(value);
    if (scores && (scores->op == OpKind::Mul || scores->op == OpKind::Div)) {
      std::optional<double> by = number(scores->operands[1]);
      PlanValueId from = scores->operands[0];
      if (!by && scores->op == OpKind::Mul) {
        by = number(from);
        from = scores->operands[1];
      }
      if (!by || *by == 0) return nullptr;
      scale = scores->op == OpKind::Mul ? *by : 1 / *by;
      scores = unshared_producer(from);
    }
    return scores && plain_product(*scores) ? scores : nullptr;
  }

  /// Reads through one transpose of a run.
  Seen see(PlanValueId id) const {
    const PlanStep* move = maker(id);
    if (!move || move->op != OpKind::Transpose)
      return {id, type(id).shape, contiguous_strides(type(id).shape)};
    PlanValueId from = move->operands[0];
    Shape strides = permuted(contiguous_strides(type(from).shape), move->attrs[0].ints);
    return through({from, type(id).shape, strides}, strides);
  }
  /// Reads through a second one, as where heads are split off and keys are transposed.
  Seen through(Seen seen, const Shape& strides) const {
    const PlanStep* move = maker(seen.value);
    if (!move || move->op != OpKind::Transpose) return seen;
    // The strides of seen.value are those of a plain tensor: each identifies its axis.
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

  /// Returns the result in the layout of the only transpose that reads it.
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

  /// Returns true if batches are equal everywhere, heads are equal or shared evenly,
  /// and the width is innermost.
  static bool agree(const std::array<Seen, kRoles>& seen) {
    const Shape &q = seen[kQ].dims, &k = seen[kK].dims, &v = seen[kV].dims;
    for (const Seen& each : seen)
      if (each.dims[0] != q[0] || each.strides[3] != 1) return false;
    bool heads = seen[kO].dims[1] == q[1] && k[1] == v[1] && q[1] % k[1] == 0;
    return heads && q[3] == k[3] && k[2] == v[2];
  }

  static PlanStep step(const PlanStep& context, const std::array<Seen, kRoles>& seen,
                       double scale) {
    PlanStep step;
    step.op = OpKind::Extern;
    step.phase = context.phase;
    step.attrs = {Value::of_string(kAttentionName), Value::of_string(""), Value::of_float(scale)};
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
  return step.op == OpKind::Extern && step.attrs.size() >= kTensors + 2 * kRoles &&
         step.attrs[0].text == kAttentionName;
}

AttentionSizes sizes_of_attention(const PlanStep& step) {
  llvm::ArrayRef<int64_t> q = step.attrs[kTensors + 2 * kQ].ints;
  llvm::ArrayRef<int64_t> k = step.attrs[kTensors + 2 * kK].ints;
  return {q[0], q[1], q[2], k[2], q[3]};
}

EditedPlan fuse_attention(const Plan& plan,
                          const std::function<bool(const Plan&, const PlanStep&)>& takes) {
  Finder finder(plan);
  std::map<PlanStepId, PlanStep> attentions; // by their last step
  std::set<PlanValueId> written;
  for (PlanStepId s = 0; s < plan.steps.size(); ++s)
    if (auto found = finder.at(s); found && takes(plan, *found)) {
      written.insert(found->result);
      attentions.emplace(s, std::move(*found));
    }
  PlanEdit edit(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    auto found = attentions.find(s);
    if (found != attentions.end())
      edit.emit(std::move(found->second), s);
    else if (!written.count(plan.steps[s].result)) // not written by an attention
      edit.emit(plan.steps[s], s);
  }
  return edit.finish();
}

std::optional<DnnProblem> attention_around(const Plan& plan, const PlanStep& softmax) {
  auto found = Finder(plan).around(softmax);
  return found ? std::optional(attention_problem(plan, *found)) : std::nullopt;
}

} // namespace tg::cuda
