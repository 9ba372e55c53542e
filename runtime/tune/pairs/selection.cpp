// The graph of operators, its bridges, and tuning plans from its trees.
#include "runtime/tune/pairs/selection.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tg::tune {

namespace {

Extents least_of(const Extents& a, const Extents& b) {
  Extents least = a;
  for (size_t i = 0; i < least.size() && i < b.size(); ++i) least[i] = std::min(a[i], b[i]);
  return least;
}

bool same_loops(const Operator& a, const Operator& b) {
  return a.type == b.type && comparable_loops(a) == comparable_loops(b);
}

/// Returns the penalty of each operator: reuse for an operator with a large share
/// of the work costs more.
std::vector<double> penalties(llvm::ArrayRef<Operator> operators, const SelectionOptions& options) {
  std::vector<double> work;
  for (size_t i = 0; i < operators.size(); ++i) {
    int64_t times = i < options.occurrences.size() ? options.occurrences[i] : 1;
    work.push_back(static_cast<double>(times) * volume(operators[i].space) *
                   volume(operators[i].reduction));
  }
  double mean = std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(work.size());
  for (double& one : work) one *= options.occurrence_weight * options.full_trials / mean;
  return work;
}

std::optional<double> trials_of_pair(const Operator& target, const Operator& reused,
                                     const SelectionOptions& options, size_t operators) {
  constexpr double kFar = 0.01; // share of the trials, for loops that differ by a factor of e
  if (options.reuse_trials > 0) return options.reuse_trials * (1 + kFar * distance(target, reused));
  if (options.dry_runs && options.dry_runs->stopped()) return std::nullopt;
  if (size_t runs = kMostDryRuns / (operators * operators); options.dry_runs && runs > 0)
    return options.dry_runs->expected_trials(target, reused, runs);
  return expected_trials(target, reused, options.estimate);
}

Tree full_searches(const OperatorGraph& graph) {
  Tree tree;
  for (size_t i = 0; i < graph.graph.arcs.size(); ++i)
    if (const Arc& arc = graph.graph.arcs[i]; arc.from == 0 && arc.to <= graph.originals)
      tree.push_back(i);
  return tree;
}

Tree select_tree(const OperatorGraph& graph, Selection selection) {
  std::optional<Tree> tree;
  switch (selection) {
  case Selection::Full: return full_searches(graph);
  case Selection::Arborescence: tree = arborescence(graph.graph); break;
  case Selection::Greedy: tree = greedy_steiner_tree(graph.graph, graph.terminals()); break;
  case Selection::Exact: tree = exact_steiner_tree(graph.graph, graph.terminals()); break;
  }
  assert(tree && "the root has an arc to every operator");
  return *tree;
}

} // namespace

std::optional<Operator> bridge_of(const Operator& a, const Operator& b) {
  if (a.type != b.type || sketches_of(a) != sketches_of(b) ||
      comparable(comparable_loops(a), comparable_loops(b)))
    return {};
  Operator bridge{a.type, least_of(a.space, b.space), least_of(a.reduction, b.reduction)};
  bool groups = a.type == OpType::GRP || a.type == OpType::T2D;
  if (groups || a.type == OpType::DEP) { // f = outer * inner, each the smaller of the two
    Extents loops = least_of(comparable_loops(a), comparable_loops(b));
    bridge.space[1] = loops[1] * loops[2];
    if (a.type == OpType::DEP)
      bridge.multiplier = {loops[2]};
    else if (a.type == OpType::GRP || loops[1] > 1)
      bridge.groups = {loops[1]};
  }
  if (a.type == OpType::WIN) bridge.output = least_of(a.output, b.output);
  if (sketches_of(bridge) != sketches_of(a)) return {};
  return bridge;
}

std::vector<Operator> bridges(llvm::ArrayRef<Operator> operators, int hops) {
  std::vector<Operator> all(operators.begin(), operators.end());
  for (int hop = 0; hop < hops; ++hop) {
    size_t before = all.size();
    for (size_t i = 0; i < before; ++i)
      for (size_t j = i + 1; j < before; ++j) {
        std::optional<Operator> bridge = bridge_of(all[i], all[j]);
        if (bridge &&
            llvm::none_of(all, [&](const Operator& op) { return same_loops(op, *bridge); }))
          all.push_back(std::move(*bridge));
      }
    if (all.size() == before) break;
  }
  return {all.begin() + static_cast<ptrdiff_t>(operators.size()), all.end()};
}

std::vector<size_t> OperatorGraph::terminals() const {
  std::vector<size_t> all(originals);
  std::iota(all.begin(), all.end(), size_t{1});
  return all;
}

OperatorGraph operator_graph(llvm::ArrayRef<Operator> operators, const SelectionOptions& options) {
  OperatorGraph found{{operators.begin(), operators.end()}, operators.size(), {}};
  for (Operator& bridge : bridges(operators, options.hops))
    found.operators.push_back(std::move(bridge));
  found.operators.insert(found.operators.end(), options.known.begin(), options.known.end());
  found.known = options.known.size();
  ArcGraph& graph = found.graph;
  graph.nodes = found.operators.size() + 1;
  std::vector<double> penalty = penalties(operators, options);
  penalty.resize(found.operators.size(), 0); // bridges are not part of the result
  for (size_t target = 0; target < found.operators.size(); ++target) {
    graph.arcs.push_back({0, target + 1, found.is_known(target) ? 0 : options.full_trials});
    if (found.is_known(target)) continue;
    for (size_t reused = 0; reused < found.operators.size(); ++reused) {
      if (reused == target || !can_reuse(found.operators[target], found.operators[reused]))
        continue;
      std::optional<double> trials = trials_of_pair(
          found.operators[target], found.operators[reused], options, found.operators.size());
      if (trials) graph.arcs.push_back({reused + 1, target + 1, penalty[target] + *trials});
    }
  }
  return found;
}

ReusePlan plan_reuse(const OperatorGraph& graph, Selection selection) {
  Tree tree = select_tree(graph, selection);
  ReusePlan plan;
  for (size_t node : breadth_first(graph.graph, tree)) {
    auto into = llvm::find_if(tree, [&](size_t arc) { return graph.graph.arcs[arc].to == node; });
    const Arc& arc = graph.graph.arcs[*into];
    TuneStep step{node - 1, {}, arc.weight};
    if (arc.from != 0) step.reused = arc.from - 1;
    plan.steps.push_back(step);
    plan.expected += arc.weight;
  }
  return plan;
}

} // namespace tg::tune
