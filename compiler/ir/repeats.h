// Finds parts of a graph that are equal except for their weights and inputs: the layers of a
// transformer, the blocks of a residual network. They are found as tandem repeats in the sequence
// of operators in the graph's order. The distances at which short runs of operators recur are the
// candidates for a block's length. Each run of operators that equals itself at such a distance is a
// region of copies. The start of the copies within the region is chosen to minimise the number of
// arguments and results.
//
// Invariant: copies have the same operators with the same attributes and types at the same places,
// and read each other, weights and values from outside in the same way.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Several operators that are written as one call of a function, whose body they are.
struct GraphCall {
  NodeId root;               // the result of the call
  std::vector<NodeId> inner; // not read outside of the call
  std::string function;      // "silu"
  std::string module;        // "std.activation"
  std::vector<NodeId> operands;
  std::string attributes; // ", eps = 1e-05"
};

/// A weight of a block: `layers.3.w` of copy 3.
struct RepeatedWeight {
  std::vector<NodeId> of; // by copy
  /// A part of its path: text, or numbers that depend on the copy.
  struct Part {
    std::string text;
    std::vector<int64_t> numbers; // by copy; if empty, the part is text
  };
  std::vector<Part> path;
};

/// A value that a block reads from outside.
struct RepeatedArgument {
  std::vector<NodeId> of; // by copy
  bool same = false;      // the same node for all copies
  /// Index in `results` of the previous copy's result, if all copies but the first read it; else
  /// -1.
  int carried = -1;
};

struct Repeat {
  /// Operators by copy and place, in the graph's order, without leaves and inner nodes of calls.
  std::vector<std::vector<NodeId>> copies;
  /// A copy whose arguments are all different nodes: it becomes the body of the function.
  size_t body = 0;
  NodeId at; // all outside values are computed before this node
  std::vector<RepeatedArgument> arguments;
  std::vector<uint32_t> results; // places read outside of their copy
  std::vector<RepeatedWeight> weights;
  /// True if copies read only each other and common values, and only the last one is read by
  /// others.
  bool is_loop = false;
};

/// Returns disjoint repeats in the order of the graph.
std::vector<Repeat> find_repeats(const Graph& graph, llvm::ArrayRef<GraphCall> calls = {});

} // namespace tg
