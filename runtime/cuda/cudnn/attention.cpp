#include "runtime/cuda/cudnn/attention.h"

#include "runtime/cuda/cudnn/attention_step.h"

#include <llvm/ADT/STLExtras.h>

#include <array>

namespace tg::cuda {

namespace {

/// What a condition replaces scores by, at most, so that nothing of them is left.
constexpr double kHides = -1e4;
constexpr double kLargestHalf = 65504;

/// A tensor as it lies in a value.
struct Seen {
  PlanValueId value = kNoValue;
  Shape dims, strides;
};

Shape permuted(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> axes) {
  Shape result;
  for (int64_t axis : axes) result.push_back(values[static_cast<size_t>(axis)]);
  return result;
}

/// What is added to the scores, or a condition under which they are seen.
struct Mask {
  PlanValueId value = kNoValue;
  std::optional<double> otherwise; // of a condition: what stands where it does not hold
};

struct Found {
  PlanStep step;
  double scale = 1;
  Mask mask;
};

class Finder {
public:
  explicit Finder(const Plan& plan) : plan_(plan), readers_(plan.values.size()) {
    for (PlanStepId s = 0; s < plan.steps.size(); ++s)
      for (PlanValueId id : plan.steps[s].operands)
        if (id != kNoValue) readers_[id].push_back(s);
  }

  /// The attention that ends in the product `s`.
  std::optional<Found> at(PlanStepId s) const {
    const PlanStep& context = plan_.steps[s];
    if (!plain_product(context)) return std::nullopt;
    const PlanStep* softmax = sole_maker(context.operands[0]);
    size_t rank = type(context.result).shape.size(), width = rank - 1, places = rank - 2;
    if (!softmax || softmax->op != OpKind::Softmax ||
        softmax->attrs[0].number != static_cast<int64_t>(width))
      return std::nullopt;
    Found found;
    const PlanStep* scores = product_below(softmax->operands[0], found);
    if (!scores) return std::nullopt;
    std::array<Seen, kRoles> seen = {see(scores->operands[0]), see(scores->operands[1]),
                                     see(context.operands[1]), result_of(context.result)};
    std::swap(seen[kK].dims[places], seen[kK].dims[width]); // its product reads it turned
    std::swap(seen[kK].strides[places], seen[kK].strides[width]);
    if (rank == 5 && (!one_for_all(found.mask) || !llvm::all_of(seen, merge_groups)))
      return std::nullopt;
    if (!agree(seen)) return std::nullopt;
    found.step = step(context, seen, found);
    return found;
  }
  /// The same, by the softmax.
  std::optional<Found> around(const PlanStep& softmax) const {
    const std::vector<PlanStepId>& readers = readers_[softmax.result];
    std::optional<Found> found = readers.size() == 1 ? at(readers[0]) : std::nullopt;
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
  /// [batch, heads, places, width], or heads in groups that share their keys and values: [batch,
  /// groups, heads of one, places, width].
  bool has_heads(PlanValueId id) const {
    size_t rank = type(id).shape.size();
    return rank == 4 || rank == 5;
  }

  /// Heads of all groups as one axis; false where no one stride says it.
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
  /// Of places alone.
  bool one_for_all(const Mask& mask) const {
    if (mask.value == kNoValue) return true;
    llvm::ArrayRef<int64_t> shape = type(mask.value).shape;
    return shape.size() < 2 || llvm::all_of(shape.drop_back(2), [](int64_t n) { return n == 1; });
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

  /// As written, or rounded to a narrower type at load, as where a whole model is made narrower.
  std::optional<double> number(PlanValueId id) const {
    PlanStepId made = plan_.values[id].defined_by;
    if (made != kNever && plan_.steps[made].op == OpKind::Cast) id = plan_.steps[made].operands[0];
    const PlanValue& v = plan_.values[id];
    if (v.kind != PlanValue::Kind::Constant || v.constant.empty()) return std::nullopt;
    bool equal = llvm::all_of(v.constant, [&](double x) { return x == v.constant[0]; });
    return equal ? std::optional(v.constant[0]) : std::nullopt;
  }

  /// The product of queries and keys below scale and mask; null where it is none.
  const PlanStep* product_below(PlanValueId scores, Found& found) const {
    const PlanStep* step = sole_maker(scores);
    if (step && step->op == OpKind::Select) {
      std::optional<double> otherwise = number(step->operands[2]);
      if (!otherwise || *otherwise > kHides) return nullptr;
      found.mask = {step->operands[0], otherwise};
      return scaled_product(step->operands[1], scores, found);
    }
    if (!step || step->op != OpKind::Add) return scaled_product(scores, scores, found);
    for (size_t i : {0u, 1u})
      if (const PlanStep* product = scaled_product(step->operands[i], scores, found)) {
        found.mask = {step->operands[1 - i], std::nullopt};
        return product;
      }
    return nullptr;
  }

  /// Below a multiplication or division by a number. A mask must not have made it larger.
  const PlanStep* scaled_product(PlanValueId value, PlanValueId like, Found& found) const {
    if (type(value) != type(like)) return nullptr;
    const PlanStep* scores = sole_maker(value);
    double scale = 1;
    if (scores && (scores->op == OpKind::Mul || scores->op == OpKind::Div)) {
      std::optional<double> by = number(scores->operands[1]);
      PlanValueId from = scores->operands[0];
      if (!by && scores->op == OpKind::Mul) {
        by = number(from);
        from = scores->operands[1];
      }
      if (!by || *by == 0) return nullptr;
      scale = scores->op == OpKind::Mul ? *by : 1 / *by;
      scores = sole_maker(from);
    }
    if (!scores || !plain_product(*scores)) return nullptr;
    found.scale = scale;
    return scores;
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

  /// Batches are the same everywhere, heads too or shared evenly, and the width lies innermost.
  static bool agree(const std::array<Seen, kRoles>& seen) {
    const Shape &q = seen[kQ].dims, &k = seen[kK].dims, &v = seen[kV].dims;
    for (const Seen& each : seen)
      if (each.dims[0] != q[0] || each.strides[3] != 1) return false;
    bool heads = seen[kO].dims[1] == q[1] && k[1] == v[1] && q[1] % k[1] == 0;
    return heads && q[3] == k[3] && k[2] == v[2];
  }

  PlanStep step(const PlanStep& context, const std::array<Seen, kRoles>& seen,
                const Found& found) const {
    PlanStep step;
    step.op = OpKind::Extern;
    step.phase = context.phase;
    step.attrs = {Value::of_string(kAttentionName), Value::of_string(""),
                  Value::of_float(found.scale)};
    auto lies = [&](const Shape& dims, const Shape& strides) {
      step.attrs.push_back(Value::of_ints(dims));
      step.attrs.push_back(Value::of_ints(strides));
    };
    for (const Seen& each : seen) lies(each.dims, each.strides);
    const Mask& mask = found.mask;
    if (mask.value != kNoValue) {
      llvm::ArrayRef<int64_t> own = type(mask.value).shape;
      own = own.take_back(4); // of five the first is 1
      Shape dims(4 - own.size(), 1);
      dims.append(own.begin(), own.end());
      lies(dims, contiguous_strides(dims));
    }
    step.operands = {seen[kQ].value, seen[kK].value, seen[kV].value, kNoValue, found.mask.value};
    step.result = seen[kO].value;
    return step;
  }

  const Plan& plan_;
  std::vector<std::vector<PlanStepId>> readers_;
};

/// Puts attention in, and before it what it reads beside queries, keys and values. What is known at
/// load goes before the first step of a run.
class Fusion {
public:
  explicit Fusion(const Plan& plan) : plan_(plan), edit_(plan) {}

  void add(PlanStepId s, Found found) {
    if (found.scale != 1)
      found.step.operands[kFactor] = edit_.constant({DType::F32, {}}, found.scale);
    if (found.mask.value != kNoValue)
      found.step.operands[kAdded] = added(found.mask, plan_.values[found.step.result].type.dtype);
    before_[s] = std::exchange(pending_, {});
    written_.insert(found.step.result);
    attentions_.emplace(s, std::move(found.step));
  }

  EditedPlan finish() {
    bool loaded = false;
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s) {
      if (plan_.steps[s].phase == Phase::Run && !std::exchange(loaded, true))
        for (PlanStep& step : at_load_) edit_.emit(std::move(step), kNever);
      auto found = attentions_.find(s);
      if (found != attentions_.end()) {
        for (PlanStep& step : before_[s]) edit_.emit(std::move(step), kNever);
        edit_.emit(std::move(found->second), s);
      } else if (!written_.count(plan_.steps[s].result)) { // not by attention in its place
        edit_.emit(plan_.steps[s], s);
      }
    }
    return edit_.finish();
  }

private:
  bool known_at_load(PlanValueId id) const {
    const PlanValue& v = plan_.values[id];
    return v.kind == PlanValue::Kind::Weight || v.kind == PlanValue::Kind::Constant ||
           (v.kind == PlanValue::Kind::Temporary && plan_.steps[v.defined_by].phase == Phase::Load);
  }

  /// What the library adds. Of f16 no infinities, which a row could consist of: the largest number
  /// hides as well.
  PlanValueId added(const Mask& mask, DType dtype) {
    if (!mask.otherwise && dtype != DType::F16) return mask.value;
    auto [it, fresh] = added_.try_emplace({mask.value, mask.otherwise.value_or(0)}, kNoValue);
    if (!fresh) return it->second;
    PlanStep step;
    if (mask.otherwise) {
      double hides =
          dtype == DType::F16 ? std::max(*mask.otherwise, -kLargestHalf) : *mask.otherwise;
      step.op = OpKind::Select;
      step.operands = {mask.value, edit_.constant({dtype, {}}, 0),
                       edit_.constant({dtype, {}}, hides)};
    } else {
      step.op = OpKind::Clip;
      step.attrs = {Value::of_float(-kLargestHalf), Value::of_float(kLargestHalf)};
      step.operands = {mask.value};
    }
    step.result = it->second = edit_.value({dtype, plan_.values[mask.value].type.shape});
    bool load = known_at_load(mask.value);
    step.phase = load ? Phase::Load : Phase::Run;
    (load ? at_load_ : pending_).push_back(std::move(step));
    return it->second;
  }

  const Plan& plan_;
  PlanEdit edit_;
  std::map<PlanStepId, PlanStep> attentions_; // by the step that they end in
  std::set<PlanValueId> written_;
  std::vector<PlanStep> at_load_, pending_;
  std::map<PlanStepId, std::vector<PlanStep>> before_;
  std::map<std::pair<PlanValueId, double>, PlanValueId> added_; // by mask and what hides
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
  Fusion fusion(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s)
    if (auto found = finder.at(s); found && takes(plan, found->step))
      fusion.add(s, std::move(*found));
  return fusion.finish();
}

std::vector<DnnProblem> attention_around(const Plan& plan, const PlanStep& softmax) {
  auto found = Finder(plan).around(softmax);
  return found ? attention_problems(plan, found->step) : std::vector<DnnProblem>();
}

} // namespace tg::cuda
