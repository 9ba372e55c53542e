// Orders in which the run-time operators of a graph can be executed, and the peak of live bytes
// that each has.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Nodes that a run computes: needed by an output, not leaves, not weight-only.
std::vector<NodeId> run_nodes(const Graph& graph);

/// Highest sum of bytes of run-time results that are alive at once. A result is alive from its
/// operator to its last user, an output to the end; while an operator runs, operands and result
/// both are, but for an operand that the result may replace.
int64_t peak_of_order(const Graph& graph, llvm::ArrayRef<NodeId> order);

/// The order with the lowest peak among three candidates; plan_from_graph.h names them.
std::vector<NodeId> best_order(const Graph& graph);

/// The operand whose buffer the result may take over if it dies there (PlanStep::in_place), by
/// position in the operand list; -1 if there is none. `dies` tells whether a node's last use is
/// this.
int in_place_operand(const Graph& graph, NodeId id, llvm::function_ref<bool(NodeId)> dies);

} // namespace tg
