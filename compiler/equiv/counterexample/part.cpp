#include "compiler/equiv/counterexample/part.h"

#include "compiler/equiv/counterexample/float_look.h"
#include "compiler/equiv/counterexample/minimise.h"
#include "compiler/equiv/counterexample/narrow.h"

namespace tg {

namespace {

constexpr double kBudgetFlops = 1e10; // of all evaluations at shapes that are tried
constexpr size_t kAttempts = 300;

/// Elements of all inputs and weights.
int64_t leaf_elements(const Graph& graph, const std::vector<bool>& needed) {
  int64_t elements = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    OpKind op = graph.node({i}).op;
    if (needed[i] && (op == OpKind::Input || op == OpKind::Weight))
      elements += graph.type({i}).elements();
  }
  return elements;
}

/// Operators, and elements of leaves, of what output `output` needs on either side.
std::pair<size_t, int64_t> size_of(const Joined& joined, size_t output) {
  const Graph& graph = joined.graph;
  std::vector<bool> needed(graph.size());
  needed[joined.a[output].index] = needed[joined.b[output].index] = true;
  size_t operators = 0;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
    if (!needed[i]) continue;
    operators += !op_info(graph.node({i}).op).has(Trait::Leaf);
    for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  }
  return {operators, leaf_elements(graph, needed)};
}

} // namespace

std::optional<Equivalence::Part> find_part(const Joined& joined, size_t output,
                                           const Evaluation<Field>::Leaves& point,
                                           const EquivalenceOptions& options) {
  EquivalenceOptions quick = options;
  quick.minimise = false;
  double budget = kBudgetFlops;
  auto differs = [&](const Joined& pair) {
    if ((budget -= evaluation_flops(pair.graph)) < 0) return false;
    return find_counterexample(pair, quick).has_value();
  };
  Joined pair = narrow(joined, output, point);
  if (!differs(pair)) return std::nullopt;
  pair = shrink(std::move(pair), differs, kAttempts);
  if (size_of(pair, 0) == size_of(joined, output)) return std::nullopt;
  std::optional<Counterexample> example = find_counterexample(pair, options);
  if (!example) return std::nullopt;
  return Equivalence::Part{as_models(pair), std::move(*example)};
}

} // namespace tg
