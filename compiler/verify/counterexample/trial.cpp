#include "compiler/verify/counterexample/trial.h"

#include "compiler/verify/counterexample/probe.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

namespace tg {

namespace {

/// Returns a relative difference that rounding in float64 does not cause. Whole networks round in
/// many more places than one rule does.
double tolerance(const Graph& graph) { return graph.op_count() > 50 ? 1e-7 : 0x1p-36; }

std::vector<bool> needed_by(const Graph& graph, llvm::ArrayRef<NodeId> roots) {
  std::vector<bool> needed(graph.size());
  for (NodeId id : roots) needed[id.index] = true;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    if (needed[i])
      for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  return needed;
}

/// Converts a double to an element of an integer dtype, saturating at the ends of its range.
Integer whole_of(DType dtype, double x) {
  return Math<Integer>::literal(Math<double>::cast(dtype, x));
}

std::optional<int64_t> differs_at(const TypedValues& a, const TypedValues& b, double tolerance) {
  if (!a.whole()) return first_difference(a.reals, b.reals, tolerance, /*least=*/0);
  for (size_t i = 0; i < a.wholes.size(); ++i)
    if (!(a.wholes[i] == b.wholes[i])) return static_cast<int64_t>(i);
  return std::nullopt;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint32_t kDraws = 4;      // random draws of noise
constexpr double kExplains = 0.125; // share of a difference that noise must move to explain it

/// Infinite between different integers, and between a finite and a nonfinite number.
double distance(const TypedValues& a, const TypedValues& b, size_t i) {
  if (a.same(b, i)) return 0;
  bool finite = !a.whole() && std::isfinite(a.reals[i]) && std::isfinite(b.reals[i]);
  return finite ? std::abs(a.reals[i] - b.reals[i]) : kInfinity;
}

/// Compares an output of both sides: the differences of its elements, and their movement by noise.
class Comparison {
public:
  /// Takes the sides without noise, which must outlive the object.
  Comparison(const TypedValues& a, const TypedValues& b, double tolerance, bool finite)
      : a_(a), b_(b), least_(tolerance * largest()), apart_(a.size()), moved_(a.size()) {
    for (size_t i = 0; i < a.size(); ++i) {
      double apart = distance(a, b, i);
      if (!finite || std::isfinite(apart)) apart_[i] = apart;
      farthest_ = std::max(farthest_, apart_[i]);
    }
  }

  void see(const TypedValues& a, const TypedValues& b) {
    for (size_t i = 0; i < moved_.size(); ++i)
      moved_[i] = std::max({moved_[i], distance(a_, a, i), distance(b_, b, i)});
  }

  double farthest() const { return farthest_; }
  /// Returns true if more elements differ despite noise than noise moves.
  bool differs() const {
    if (farthest_ == 0) return false;
    size_t counted = 0, moved = 0;
    for (size_t i = 0; i < moved_.size(); ++i) {
      counted += counts(i);
      moved += moved_[i] >= kExplains * farthest_;
    }
    return counted > moved;
  }
  /// Returns the first element that differs despite noise. Requires that there is one.
  size_t first() const {
    size_t i = 0;
    while (!counts(i)) ++i;
    return i;
  }

private:
  bool counts(size_t i) const { return apart_[i] > least_ && moved_[i] < kExplains * apart_[i]; }
  double largest() const {
    double result = 0;
    for (const TypedValues* side : {&a_, &b_})
      for (double x : side->reals)
        if (std::isfinite(x)) result = std::max(result, std::abs(x));
    return result;
  }

  const TypedValues &a_, &b_;
  double least_, farthest_ = 0;
  std::vector<double> apart_, moved_; // by element
};

} // namespace

std::vector<bool> one_sided(const Joined& joined) {
  std::vector<bool> a = needed_by(joined.graph, joined.a), b = needed_by(joined.graph, joined.b);
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] != b[i];
  return a;
}

TypedValues typed_values(DType dtype, const NodeValues& values) {
  TypedValues result;
  if (is_float(dtype))
    result.reals = values;
  else
    for (double x : values) result.wholes.push_back(whole_of(dtype, x));
  return result;
}

TypedLeaves Trial::typed_leaves(const LeafValues& values) const {
  return [this, &values](const Graph& graph, NodeId id) {
    auto at = std::lower_bound(leaves_.begin(), leaves_.end(), id,
                               [](NodeId x, NodeId y) { return x.index < y.index; });
    TypedValues typed =
        typed_values(graph.type(id).dtype, values[static_cast<size_t>(at - leaves_.begin())]);
    for (Integer& x : typed.wholes) x = in_range(id, x);
    return typed;
  };
}

/// Counts on from the low end of the range where x is beyond it.
Integer Trial::in_range(NodeId leaf, Integer x) const {
  auto found = joined_.ranges.find(joined_.graph.attr(leaf, 0).text);
  if (joined_.graph.node(leaf).op != OpKind::Input || found == joined_.ranges.end()) return x;
  const WholeRange& range = found->second;
  if (range.low <= x.value && x.value <= range.high) return x;
  uint64_t size = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low) + 1;
  return wrapped(static_cast<uint64_t>(range.low) +
                 (bits(x) - static_cast<uint64_t>(range.low)) % size);
}

Trial::Trial(const Joined& joined)
    : joined_(joined), alone_(one_sided(joined)), tolerance_(tolerance(joined.graph)) {
  for (size_t i = 0; i < joined.a.size(); ++i) {
    if (joined.a[i] == joined.b[i]) continue;
    wanted_.append({joined.a[i], joined.b[i]});
    outputs_.push_back(i);
  }
  std::vector<bool> needed = needed_by(joined.graph, wanted_);
  for (uint32_t i = 0; i < joined.graph.size(); ++i)
    if (needed[i] && is_variable(joined.graph.node({i}).op)) leaves_.push_back({i});
}

TypedRun Trial::evaluate(const LeafValues& values) const {
  return evaluate_typed(joined_.graph, typed_leaves(values), wanted_, Rounding::None);
}

std::optional<Trial::Difference> Trial::run(const LeafValues& values) const {
  TypedRun run = evaluate(values);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TypedValues &a = run.wanted[2 * i], &b = run.wanted[2 * i + 1];
    std::optional<int64_t> at = differs_at(a, b, tolerance_);
    if (!at) continue;
    auto index = static_cast<size_t>(*at);
    bool tiny = !a.whole() && !first_difference(a.reals, b.reals, tolerance_);
    return Difference{outputs_[i], *at, a.number(index), b.number(index), tiny};
  }
  return std::nullopt;
}

std::optional<Trial::Difference> Trial::run_beyond_rounding(const LeafValues& values,
                                                            Results results) const {
  std::feclearexcept(FE_INEXACT);
  TypedRun plain = evaluate(values);
  const bool exact = !std::fetestexcept(FE_INEXACT); // except for literals such as 0.1 and 2^63 - 1
  std::vector<Comparison> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i)
    outputs.emplace_back(plain.wanted[2 * i], plain.wanted[2 * i + 1], tolerance_,
                         results == Results::Finite);
  auto differs = [](const Comparison& output) { return output.differs(); };
  auto found = llvm::find_if(outputs, differs);
  bool decided = exact && found != outputs.end() && found->farthest() > tolerance_ * plain.largest;
  for (uint32_t draw = 0; draw < kDraws && !decided && found != outputs.end(); ++draw) {
    TypedRun noisy = evaluate_noisy(joined_.graph, typed_leaves(values), wanted_, {alone_, draw});
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].see(noisy.wanted[2 * i], noisy.wanted[2 * i + 1]);
    found = llvm::find_if(outputs, differs);
  }
  if (found == outputs.end()) return std::nullopt;
  size_t index = found->first();
  auto output = static_cast<size_t>(found - outputs.begin());
  return Difference{outputs_[output], static_cast<int64_t>(index),
                    plain.wanted[2 * output].number(index),
                    plain.wanted[2 * output + 1].number(index)};
}

ConstNumber Trial::element(NodeId leaf, double x) const {
  DType dtype = joined_.graph.type(leaf).dtype;
  return is_float(dtype) ? ConstNumber::of_float(x)
                         : ConstNumber::of_int(in_range(leaf, whole_of(dtype, x)).value);
}

std::pair<TypedValues, TypedValues> Trial::outputs(const LeafValues& values, size_t output) const {
  TypedRun run = evaluate_typed(joined_.graph, typed_leaves(values),
                                {joined_.a[output], joined_.b[output]}, Rounding::None);
  return {std::move(run.wanted[0]), std::move(run.wanted[1])};
}

} // namespace tg
