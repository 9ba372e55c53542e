// Joins two models into one graph: inputs and weights of the same name become one leaf, and equal
// computations one node, which is evaluated once.
#pragma once

#include "compiler/ir/whole_ranges.h"

namespace tg {

struct Joined {
  Graph graph;
  /// The outputs of both, in order, as nodes of `graph`.
  std::vector<NodeId> a, b;
  std::vector<std::string> names; // of the outputs
  /// Inputs whose integers are compared within a range alone.
  InputRanges ranges = {};
};

/// Joins two models. Errors: `models_differ` if the models do not have the same inputs (names and
/// types, in any order), the same outputs (names, types and order), or weights of the same path
/// have different types. A weight that only one of them has is treated as an unknown.
Result<Joined> join(const Graph& a, const Graph& b);

/// Copies a node of `from` to `to`, over operands of the same types there. The initialisation of
/// weights is left out.
NodeId copy_node(const Graph& from, NodeId id, llvm::ArrayRef<NodeId> operands, Graph& to);

/// Returns a text that begins with `prefix`, and with which no name of an input begins.
std::string unused_prefix(const Graph& graph, llvm::StringRef prefix);

} // namespace tg
