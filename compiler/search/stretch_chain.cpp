// A step of a stretch says the same of the whole where the stretch's inputs are what they are
// there: as they were before any stretch was replaced, whichever that was. What the whole ends at
// is made once, in the end, in the graph's order: the inputs of a stretch come before its
// operators.
#include "compiler/search/stretch_chain.h"

#include <cassert>

namespace tg {

namespace {

class Lift {
public:
  Lift(Derivation& whole, const Graph& graph)
      : whole_(whole), graph_(graph), needed_(graph.reachable()), before_(graph.size()),
        after_(graph.size()), made_by_(graph.size()) {
    Translation into(graph, whole.terms);
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed_[i]) before_[i] = into({i});
  }

  void take(const StretchChain& stretch) {
    Translation into(stretch.chain->terms, whole_.terms);
    set_leaves(stretch, before_, into);
    for (const DerivationStep& step : stretch.chain->steps) whole_.steps.push_back(into.step(step));
    for (size_t o = 0; o < stretch.place->outputs.size(); ++o)
      made_by_[stretch.place->outputs[o].index] = {&stretch, o};
  }

  void finish() {
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i]) after_[i] = made_by_[i].stretch ? end_of(made_by_[i]) : again({i});
    for (size_t o = 0; o < whole_.end.size(); ++o)
      whole_.end[o] = after_[graph_.outputs()[o].node.index];
  }

private:
  struct Output {
    const StretchChain* stretch = nullptr;
    size_t number = 0;
  };

  /// The inputs of the cut-out are nodes of the whole, its weights those of the whole.
  void set_leaves(const StretchChain& stretch, llvm::ArrayRef<NodeId> nodes, Translation& into) {
    const CutOut& place = *stretch.place;
    const Graph& terms = stretch.chain->terms;
    for (uint32_t i = 0; i < terms.size(); ++i) {
      OpKind op = terms.node({i}).op;
      if (op != OpKind::Input && op != OpKind::Weight) continue;
      size_t number = 0;
      llvm::StringRef name = terms.attr({i}, 0).text;
      [[maybe_unused]] bool bad = name.drop_front().getAsInteger(10, number);
      assert(!bad && "a cut-out numbers its leaves");
      if (op == OpKind::Input)
        into.set({i}, nodes[place.inputs[number - 1].index]);
      else
        into.set({i}, whole_.terms.add(op, graph_.symbols().attrs(place.weights[number]), {}));
    }
  }

  NodeId end_of(const Output& output) {
    Translation into(output.stretch->chain->terms, whole_.terms);
    set_leaves(*output.stretch, after_, into);
    return into(output.stretch->chain->end[output.number]);
  }

  NodeId again(NodeId node) {
    llvm::SmallVector<NodeId, 6> operands;
    for (NodeId operand : graph_.operands(node)) operands.push_back(after_[operand.index]);
    NodeId made = whole_.terms.add(graph_.node(node).op, graph_.attrs(node), operands);
    assert(made.valid() && "equal types below, equal types above");
    return made;
  }

  Derivation& whole_;
  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<NodeId> before_, after_; // by node of the graph, in whole_.terms
  std::vector<Output> made_by_;
};

} // namespace

void append_stretches(Derivation& whole, const Graph& graph, llvm::ArrayRef<StretchChain> found) {
  assert(&whole.terms.symbols() == &graph.symbols());
  Lift lift(whole, graph);
  for (const StretchChain& stretch : found)
    if (stretch.place && stretch.chain) lift.take(stretch);
  lift.finish();
}

} // namespace tg
