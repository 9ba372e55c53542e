// Gradients: reverse-mode differentiation of a graph (Griewank and Walther 2008, chapter 3). From
// the loss down, operands first, each operator turns the gradient of its result into those of its
// operands, by its row in rules.cpp. What comes out are nodes of the same graph, which are
// optimised, checked and printed like all others, and have gradients themselves.
//
// Forward values that a gradient needs are the nodes that are there: what a rule writes anew (the
// softmax in an attention, the statistics of a norm) is written as the operators that it is made
// of.
#pragma once

#include "compiler/ir/graph.h"

#include <optional>

namespace tg {

/// An operator on the way to what is asked for that has no gradient.
struct NoGradient {
  std::string why;
  std::vector<NodeId> way; // from the loss to the operator, both included
};

/// The derivatives of the loss, which has one element, by these floats: a tensor of the type of
/// each, zeros where the loss does not depend on it. What `constant` holds is taken for given:
/// nothing goes through it. nullopt: `why` is filled in.
std::optional<std::vector<NodeId>> gradients(Graph& graph, NodeId loss, llvm::ArrayRef<NodeId> wrt,
                                             llvm::ArrayRef<NodeId> constant, NoGradient& why);

} // namespace tg
