// Derivations: proofs that one graph equals another, as sequences of rule applications. `tg
// explain` prints them and verify/replay.h checks them. They are independent of e-graphs.
//
// All terms are in one hash-consed store. A step is an equation of two terms, or several: an
// instance of the rule's sides. The terms above them follow by congruence. So the size of a step
// depends only on its rule, and not on the graph. (If each step stored the whole graph after it, a
// chain along n operators would need n times n terms.)
#pragma once

#include "compiler/egraph/ids.h"
#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"

namespace tg {

/// Replaces one node by another.
struct Exchange {
  NodeId from, to;
  uint32_t side = 0; // index of the rule's left side and the matching right side
};

struct DerivationStep {
  RuleId rule{};
  bool forward = true; // false: replaces a right side by its left side
  /// The bindings of the rule's variables; invalid if the sides used do not contain the variable.
  std::vector<NodeId> classes;
  std::vector<ValueId> values;
  llvm::SmallVector<Exchange, 2> exchanges; // several for rules with several left sides
  /// For the native rule FusePointwise, whose variables are the operands of the fused_map: bit i is
  /// set if operand i of the left side's root was inlined into the body.
  uint32_t inlined = 0;
};

struct Derivation {
  Graph terms;
  std::vector<NodeId> start, end; // outputs of the first and the last graph, in output order
  std::vector<DerivationStep> steps;
  /// Further applications, from which the terms of the steps and of the end were made. They are not
  /// part of the proof. instantiate.h applies them at other sizes.
  std::vector<DerivationStep> makers;

  explicit Derivation(std::shared_ptr<Symbols> symbols) : terms(std::move(symbols)) {}
  /// Calls `change` for each step and each maker.
  template <class Change> void each_step(Change change) {
    for (DerivationStep& step : steps) change(step);
    for (DerivationStep& maker : makers) change(maker);
  }
};

/// Copies nodes of one graph into another, possibly with other symbols. The images of leaves can be
/// set before.
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

/// Returns a derivation without steps, of the graph itself.
Derivation derivation_of(const Graph& graph);

/// Adds the steps and makers of another derivation, whose terms `into` copies.
void add_steps(Derivation& whole, const Derivation& next, Translation& into);

/// Appends another derivation, which must start where `whole` ends. Its symbols may differ.
void append(Derivation& whole, const Derivation& next);

/// Removes the steps that are not needed to derive the end, and the unused terms. Preserves the
/// order. Removed steps become makers.
void trim(Derivation& chain);

/// Returns the graph with these outputs, and with the inputs and the names of `like`.
Graph graph_of(const Derivation& chain, llvm::ArrayRef<NodeId> outputs, const Graph& like);

} // namespace tg
