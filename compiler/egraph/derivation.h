// A chain of rewrites from one graph to another: what `tg explain` prints and what equiv/replay.h
// checks. It knows no e-graph. All graphs of the chain lie in one hash-consed store of terms; a
// step replaces nodes by others, each pair an instance of the rule's two sides, and what is above
// them follows. Nodes are shared, so a step changes as many places as use what it replaces.
#pragma once

#include "compiler/egraph/ids.h"
#include "compiler/ir/graph.h"

namespace tg {

/// One node instead of another.
struct Exchange {
  NodeId from, to;
  uint32_t side = 0; // which of the rule's left sides, and the right side that goes with it
};

struct DerivationStep {
  RuleId rule{};
  bool forward = true; // false: a right side was found, and its left side put there
  /// What the rule's variables stand for; invalid where neither side used names one.
  std::vector<NodeId> classes;
  std::vector<ValueId> values;
  llvm::SmallVector<Exchange, 2> exchanges; // several for rules with several left sides
  std::vector<NodeId> after;                // the outputs
  /// Of the native rule FusePointwise, whose variables are the operands of the fused_map: bit i if
  /// operand i of the left side's root went into the body.
  uint32_t inlined = 0;
};

struct Derivation {
  Graph terms;
  std::vector<NodeId> start; // outputs of the first graph, in its order
  std::vector<DerivationStep> steps;

  explicit Derivation(std::shared_ptr<Symbols> symbols) : terms(std::move(symbols)) {}
  /// Outputs before step `i`; those of the last graph for i = steps.size().
  llvm::ArrayRef<NodeId> outputs(size_t i) const { return i == 0 ? start : steps[i - 1].after; }
};

/// Copies nodes of one graph into another, perhaps over other symbols. What a leaf becomes can be
/// set before.
class Translation {
public:
  Translation(const Graph& from, Graph& to) : from_(from), to_(to) {}
  void set(NodeId node, NodeId image) { images_[node.index] = image; }
  NodeId operator()(NodeId node);
  ValueId value(ValueId id) const;

private:
  NodeId copy(NodeId node);

  const Graph& from_;
  Graph& to_;
  llvm::DenseMap<uint32_t, NodeId> images_;
};

/// No steps: the graph itself.
Derivation derivation_of(const Graph& graph);

/// Goes on with another chain, which starts where `whole` ends. Symbols may be others.
void append(Derivation& whole, const Derivation& next);

/// Takes out what leads back to a graph that was there before.
void cut_loops(Derivation& chain);

/// The graph before step `i`, with the inputs and the names of `like`.
Graph graph_at(const Derivation& chain, size_t i, const Graph& like);

/// The nodes below `roots`, operands first; by number, so that it does not depend on the order of
/// the roots.
std::vector<NodeId> reachable_from(const Graph& graph, llvm::ArrayRef<NodeId> roots);

/// `roots` with the nodes exchanged wherever they are used; what is put in stays as it is.
std::vector<NodeId> exchanged(Graph& terms, llvm::ArrayRef<NodeId> roots,
                              llvm::ArrayRef<Exchange> exchanges);

} // namespace tg
