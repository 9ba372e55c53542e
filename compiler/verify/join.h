// Two models as one graph: inputs and weights of one name are one leaf, and what both compute alike
// is one node, evaluated once.
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

/// Errors: `models_differ` if the models do not have the same inputs (names and types, in any
/// order), the same outputs (names, types and order), or a weight of one type under one path. A
/// weight that only one of them has is taken for what it is: an unknown.
Result<Joined> join(const Graph& a, const Graph& b);

/// A node of `from` in `to`, over operands of the same types there.
/// How a weight is initialised is left out.
NodeId copy_node(const Graph& from, NodeId id, llvm::ArrayRef<NodeId> operands, Graph& to);

} // namespace tg
