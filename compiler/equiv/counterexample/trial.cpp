#include "compiler/equiv/counterexample/trial.h"

#include "compiler/equiv/counterexample/probe.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// A relative difference that rounding in float64 does not make. Whole networks round in many more
/// places than one rule does.
double tolerance(const Graph& graph) { return graph.op_count() > 50 ? 1e-7 : 1e-9; }

std::vector<bool> needed_by(const Graph& graph, llvm::ArrayRef<NodeId> roots) {
  std::vector<bool> needed(graph.size());
  for (NodeId id : roots) needed[id.index] = true;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    if (needed[i])
      for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  return needed;
}

bool is_variable(OpKind op) { return op == OpKind::Input || op == OpKind::Weight; }

/// A double as an element of an integer dtype: the end of the range where it lies beyond.
Integer whole_of(DType dtype, double x) {
  return Math<Integer>::literal(Math<double>::cast(dtype, x));
}

NodeValues doubles(const TypedValues& values) {
  NodeValues result(values.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = values.at(i);
  return result;
}

std::optional<int64_t> differs_at(const TypedValues& a, const TypedValues& b, double tolerance) {
  if (!a.whole()) return first_difference(a.reals, b.reals, tolerance, /*least=*/0);
  for (size_t i = 0; i < a.wholes.size(); ++i)
    if (!(a.wholes[i] == b.wholes[i])) return static_cast<int64_t>(i);
  return std::nullopt;
}

bool same_kind(double x, double y) {
  return std::isnan(x) ? std::isnan(y) : std::isinf(x) ? x == y : std::isfinite(y);
}

} // namespace

std::vector<bool> one_sided(const Joined& joined) {
  std::vector<bool> a = needed_by(joined.graph, joined.a), b = needed_by(joined.graph, joined.b);
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] != b[i];
  return a;
}

TypedLeaves typed_leaves(llvm::ArrayRef<NodeId> leaves, const LeafValues& values) {
  return [leaves, &values](const Graph& graph, NodeId id) {
    const auto* at = std::lower_bound(leaves.begin(), leaves.end(), id,
                                      [](NodeId x, NodeId y) { return x.index < y.index; });
    const NodeValues& given = values[static_cast<size_t>(at - leaves.begin())];
    DType dtype = graph.type(id).dtype;
    TypedValues result;
    if (is_float(dtype))
      result.reals = given;
    else
      for (double x : given) result.wholes.push_back(whole_of(dtype, x));
    return result;
  };
}

Trial::Trial(const Joined& joined) : joined_(joined), tolerance_(tolerance(joined.graph)) {
  for (size_t i = 0; i < joined.a.size(); ++i) {
    if (joined.a[i] == joined.b[i]) continue;
    wanted_.append({joined.a[i], joined.b[i]});
    outputs_.push_back(i);
  }
  std::vector<bool> needed = needed_by(joined.graph, wanted_);
  for (uint32_t i = 0; i < joined.graph.size(); ++i)
    if (needed[i] && is_variable(joined.graph.node({i}).op)) leaves_.push_back({i});
}

std::optional<Trial::Difference> Trial::run(const LeafValues& values) const {
  TypedRun run =
      evaluate_typed(joined_.graph, typed_leaves(leaves_, values), wanted_, Rounding::None);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TypedValues &a = run.wanted[2 * i], &b = run.wanted[2 * i + 1];
    std::optional<int64_t> at = differs_at(a, b, tolerance_);
    if (!at) continue;
    auto index = static_cast<size_t>(*at);
    bool tiny = !a.whole() && !first_difference(a.reals, b.reals, tolerance_);
    return Difference{outputs_[i], *at, a.at(index), b.at(index), tiny};
  }
  return std::nullopt;
}

bool Trial::rounding_explains(const LeafValues& values, const Difference& difference) const {
  NodeId sides[] = {joined_.a[difference.output], joined_.b[difference.output]};
  TypedLeaves leaves = typed_leaves(leaves_, values);
  TypedRun noisy = evaluate_typed(joined_.graph, leaves, sides, Rounding::Noisy);
  auto index = static_cast<size_t>(difference.index);
  double a = difference.a, b = difference.b;
  double rough_a = noisy.wanted[0].at(index), rough_b = noisy.wanted[1].at(index);
  if (noisy.wanted[0].whole()) return rough_a != a || rough_b != b;
  if (!std::isfinite(a) || !std::isfinite(b))
    return !same_kind(a, rough_a) || !same_kind(b, rough_b);
  double distance = std::abs(a - b), rough = std::abs(rough_a - rough_b);
  return !(rough >= distance / 2 && rough <= 2 * distance);
}

std::pair<NodeValues, NodeValues> Trial::outputs(const LeafValues& values, size_t output) const {
  TypedRun run = evaluate_typed(joined_.graph, typed_leaves(leaves_, values),
                                {joined_.a[output], joined_.b[output]}, Rounding::None);
  return {doubles(run.wanted[0]), doubles(run.wanted[1])};
}

} // namespace tg
