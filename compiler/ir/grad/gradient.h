// Gradients: reverse-mode differentiation of a graph (Griewank and Walther 2008, chapter 3). From
// the loss downwards, users first, the rule of each operator (rules.cpp) turns the gradient of its
// result into gradients of its operands. The results are nodes of the same graph. They are
// optimised, checked and printed like all others, and can be differentiated themselves.
//
// A gradient reuses existing nodes for forward values. Values that a rule needs but the graph lacks
// (the softmax in an attention, the statistics of a norm) are built from their component operators.
#pragma once

#include "compiler/ir/graph.h"

#include <optional>

namespace tg {

/// An operator without a gradient on a path to a requested variable.
struct NoGradient {
  std::string why;
  std::vector<NodeId> way; // from the loss to the operator, inclusive
};

/// Returns the derivatives of the loss, which must have one element, with respect to `wrt`, which
/// must be floats. Each has the type of its variable, and is zero if the loss does not depend on
/// it. Nodes in `constant` are treated as constants. On an error returns nullopt and fills `why`.
std::optional<std::vector<NodeId>> gradients(Graph& graph, NodeId loss, llvm::ArrayRef<NodeId> wrt,
                                             llvm::ArrayRef<NodeId> constant, NoGradient& why);

} // namespace tg
