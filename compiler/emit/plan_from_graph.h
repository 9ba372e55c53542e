// Graph to plan: which nodes are computed at load and which at each run, in which order, how long
// values live, and which results may take over the buffer of an operand. Layouts, kernels and
// offsets are the backend's. Nothing is fused here: a node is a step.
#pragma once

#include "compiler/emit/recompute.h"
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

/// A plan, which node each of its steps computes, and what making some of them again (recompute.h)
/// gains.
struct PlanOfNodes {
  Plan plan;
  std::vector<NodeId> nodes;
  Recomputed recomputed = {};
};
PlanOfNodes plan_of_nodes(const Graph& graph, const RecomputeOptions& options = {});

// Orders in which the run-time operators of a graph can be executed, and the peak of live bytes
// that each has.

/// Nodes that a run computes: needed by an output, not leaves, not weight-only.
std::vector<NodeId> run_nodes(const Graph& graph);

/// Highest sum of bytes of run-time results that are alive at once. A result is alive from its
/// operator to its last user, an output to the end; while an operator runs, operands and result
/// both are, but for an operand that the result may replace.
int64_t peak_of_order(const Graph& graph, llvm::ArrayRef<NodeId> order);

/// The order with the lowest peak among three candidates; the top of this file names them.
std::vector<NodeId> best_order(const Graph& graph);

/// The operand whose buffer the result may take over if it dies there (PlanStep::in_place), by
/// position in the operand list; -1 if there is none. `dies` tells whether a node's last use is
/// this.
int in_place_operand(const Graph& graph, NodeId id, llvm::function_ref<bool(NodeId)> dies);

} // namespace tg
