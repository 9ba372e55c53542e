// Converts a graph to a plan: which nodes are computed at load and which at each run, their order,
// the lifetimes of values, and the results that may reuse the buffer of an operand. The backend
// chooses layouts, kernels and offsets. Nothing is fused here: each node becomes a step.
#pragma once

#include "compiler/emit/recompute.h"
#include "compiler/ir/graph.h"
#include "runtime/plan.h"

namespace tg {

/// Returns a plan of the nodes that the outputs need. Values are numbered in the order inputs,
/// leaves, results.
///
/// Weight-only operators become load steps. The order of the run steps is the one with the lowest
/// peak of live bytes among three: the graph's own; depth first from the outputs (the operand with
/// the larger demand first, as Sethi and Ullman 1970); and greedy (the ready operator that leaves
/// the fewest bytes). On ties the earlier one in this list wins.
///
/// The graph must verify(); this cannot fail.
Plan plan_from_graph(const Graph& graph);

/// A plan, the node of each of its steps, and the gain from recomputing some of them (recompute.h).
struct PlanOfNodes {
  Plan plan;
  std::vector<NodeId> nodes;
  Recomputed recomputed = {};
};
PlanOfNodes plan_of_nodes(const Graph& graph, const RecomputeOptions& options = {});

// Orders in which the run-time operators of a graph can be executed, and their peaks of live bytes.

/// Returns the nodes that a run computes: needed by an output, not leaves, not weight-only.
std::vector<NodeId> run_nodes(const Graph& graph);

/// Returns the order with the lowest peak among the three candidates of plan_from_graph(): the
/// highest sum of bytes of run-time results that are alive at once. A result is alive from its
/// operator to its last user, an output to the end. While an operator runs, its operands and its
/// result are both alive, except an operand that the result may replace.
std::vector<NodeId> best_order(const Graph& graph);

/// Returns the position of the operand whose buffer the result may reuse if the operand dies there
/// (PlanStep::in_place); -1 if there is none. `dies` returns true if this is the node's last use.
int in_place_operand(const Graph& graph, NodeId id, llvm::function_ref<bool(NodeId)> dies);

} // namespace tg
