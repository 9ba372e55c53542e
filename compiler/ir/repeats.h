// Parts of a graph that are the same but for their weights and for what they read: the layers of a
// transformer, the blocks of a residual network. They are looked for where they follow one another
// in the graph's order, as tandem repeats of the sequence of operators: the distances at which a
// short run of operators occurs again are the candidates for a block's length, and each run of
// operators that equals itself at that distance is a region of copies. What a copy is, where it
// begins within the region, is chosen so that little goes in and out.
//
// Invariant: copies have the same operators with the same attributes and types at the same places,
// which read each other, weights and what comes from outside in the same way.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Several operators that are written as one: a call of a function whose body they are.
struct GraphCall {
  NodeId root;               // whose value it gives
  std::vector<NodeId> inner; // read by nothing outside
  std::string function;      // "silu"
  std::string module;        // "std.activation"
  std::vector<NodeId> operands;
  std::string attributes; // ", eps = 1e-05"
};

/// A weight of a block: `layers.3.w` of copy 3.
struct RepeatedWeight {
  std::vector<NodeId> of; // by copy
  /// What its path is made of: text and, between, numbers that depend on the copy.
  struct Part {
    std::string text;
    std::vector<int64_t> numbers; // by copy; empty: the text
  };
  std::vector<Part> path;
};

/// What a block reads from outside.
struct RepeatedArgument {
  std::vector<NodeId> of; // by copy
  bool same = false;      // all copies read one node
  /// The result, by its place in `results`, of the copy before, which each but the first reads.
  int carried = -1;
};

struct Repeat {
  /// Operators by copy and place, in the graph's order. Leaves are not among them, nor the inner
  /// nodes of calls.
  std::vector<std::vector<NodeId>> copies;
  /// The copy that reads different nodes by all its arguments: the body of a function.
  size_t body = 0;
  NodeId at; // before this one all that they read from outside is there
  std::vector<RepeatedArgument> arguments;
  std::vector<uint32_t> results; // places whose values are read outside of their copy
  std::vector<RepeatedWeight> weights;
  /// Copies read each other and one thing alone, and only the last is read by others.
  bool is_loop = false;
};

/// Each node is in one copy at most; in the order of the graph.
std::vector<Repeat> find_repeats(const Graph& graph, llvm::ArrayRef<GraphCall> calls = {});

} // namespace tg
