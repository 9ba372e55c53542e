#include "compiler/search/stretch_chain.h"

#include <cassert>

namespace tg {

namespace {

class Lift {
public:
  Lift(Derivation& whole, const Graph& graph)
      : whole_(whole), graph_(graph), needed_(graph.reachable()), now_(graph.size()),
        instead_(graph.size()) {
    evaluate();
  }

  void run(const CutOut& place, const Derivation& chain) {
    Translation into(chain.terms, whole_.terms);
    set_leaves(place, chain.terms, into);
    for (const DerivationStep& step : chain.steps) {
      DerivationStep lifted = step;
      for (NodeId& node : lifted.classes)
        if (node.valid()) node = into(node);
      for (ValueId& value : lifted.values) value = into.value(value);
      for (Exchange& exchange : lifted.exchanges)
        exchange = {into(exchange.from), into(exchange.to), exchange.side};
      for (size_t o = 0; o < place.outputs.size(); ++o)
        instead_[place.outputs[o].index] = into(step.after[o]);
      evaluate();
      lifted.after.clear();
      for (const GraphOutput& output : graph_.outputs())
        lifted.after.push_back(now_[output.node.index]);
      whole_.steps.push_back(std::move(lifted));
    }
  }

private:
  /// The inputs of the cut-out are nodes of the whole, its weights those of the whole.
  void set_leaves(const CutOut& place, const Graph& terms, Translation& into) {
    for (uint32_t i = 0; i < terms.size(); ++i) {
      OpKind op = terms.node({i}).op;
      if (op != OpKind::Input && op != OpKind::Weight) continue;
      size_t number = 0;
      llvm::StringRef name = terms.attr({i}, 0).text;
      [[maybe_unused]] bool bad = name.drop_front().getAsInteger(10, number);
      assert(!bad && "a cut-out numbers its leaves");
      if (op == OpKind::Input)
        into.set({i}, now_[place.inputs[number - 1].index]);
      else
        into.set({i}, whole_.terms.add(op, graph_.symbols().attrs(place.weights[number]), {}));
    }
  }

  /// The whole with what was found so far, node by node.
  void evaluate() {
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!needed_[i]) continue;
      now_[i] = instead_[i];
      if (now_[i].valid()) continue;
      llvm::SmallVector<NodeId, 6> operands;
      for (NodeId operand : graph_.operands({i})) operands.push_back(now_[operand.index]);
      now_[i] = whole_.terms.add(graph_.node({i}).op, graph_.attrs({i}), operands);
      assert(now_[i].valid() && "equal types below, equal types above");
    }
  }

  Derivation& whole_;
  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<NodeId> now_, instead_; // by node of the graph, in whole_.terms
};

} // namespace

void append_stretches(Derivation& whole, const Graph& graph, llvm::ArrayRef<StretchChain> found) {
  assert(&whole.terms.symbols() == &graph.symbols());
  Lift lift(whole, graph);
  for (const StretchChain& stretch : found)
    if (stretch.place && stretch.chain) lift.run(*stretch.place, *stretch.chain);
}

} // namespace tg
