// Graph to plan: which nodes are computed at load and which at each run, in which order, how long
// values live, and which results may take over the buffer of an operand. Layouts, kernels and
// offsets are the backend's. Nothing is fused here: a node is a step.
#pragma once

#include "compiler/ir/graph.h"
#include "runtime/plan.h"

namespace tg {

/// A plan of what the outputs need. Values are numbered in the order inputs, leaves, results.
///
/// Weight-only operators become load steps. The order of the run steps is the one with the lowest
/// peak of live bytes among three: the graph's own, depth first from the outputs (the operand with
/// the larger demand first, as Sethi and Ullman 1970), and greedy (the ready operator that leaves
/// the fewest bytes). Ties keep the earlier of these.
///
/// The graph must verify(); this cannot fail.
Plan plan_from_graph(const Graph& graph);

/// A plan, and which node each of its steps computes.
struct PlanOfNodes {
  Plan plan;
  std::vector<NodeId> nodes;
};
PlanOfNodes plan_of_nodes(const Graph& graph);

} // namespace tg
