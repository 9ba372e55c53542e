// Why one graph equals another: steps, each of which says that terms are equal because of a rule.
// What `tg explain` prints and what verify/replay.h checks. It knows no e-graph.
//
// All terms lie in one hash-consed store. A step is an equation of two terms, or a few: an instance
// of the rule's two sides; what is above and below follows by congruence. So a step has the size of
// its rule, whatever the graph: the terms above what it changes are not made anew. (Were each step
// the whole graph after it, a chain along n operators would need n times n terms.)
#pragma once

#include "compiler/egraph/ids.h"
#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"

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
  /// Of the native rule FusePointwise, whose variables are the operands of the fused_map: bit i if
  /// operand i of the left side's root went into the body.
  uint32_t inlined = 0;
};

struct Derivation {
  Graph terms;
  std::vector<NodeId> start, end; // outputs of the first graph and of the last, in its order
  std::vector<DerivationStep> steps;

  explicit Derivation(std::shared_ptr<Symbols> symbols) : terms(std::move(symbols)) {}
};

/// Copies nodes of one graph into another, perhaps over other symbols.
/// What a leaf becomes can be set before.
class Translation {
public:
  Translation(const Graph& from, Graph& to) : from_(from), to_(to) {}
  void set(NodeId node, NodeId image) { images_[node.index] = image; }
  NodeId operator()(NodeId node);
  ValueId value(ValueId id) const;
  DerivationStep step(const DerivationStep& step);

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

/// Takes out the steps without which the end follows from the others, and the terms that nothing
/// speaks of. The order stays.
void trim(Derivation& chain);

/// The graph with these outputs, and the inputs and the names of `like`.
Graph graph_of(const Derivation& chain, llvm::ArrayRef<NodeId> outputs, const Graph& like);

} // namespace tg
