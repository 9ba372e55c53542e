#include "compiler/egraph/explain/derivation.h"

#include "compiler/egraph/explain/term_closure.h"

#include <cassert>

namespace tg {

// --- copies --------------------------------------------------------------------------------------

ValueId Translation::value(ValueId id) const {
  if (id.index == UINT32_MAX || &from_.symbols() == &to_.symbols()) return id;
  return to_.symbols().value(from_.symbols().value(id));
}

NodeId Translation::copy(NodeId node) {
  llvm::SmallVector<ValueId, 6> attrs;
  for (ValueId attr : from_.attrs(node)) attrs.push_back(value(attr));
  llvm::SmallVector<NodeId, 6> operands;
  for (NodeId operand : from_.operands(node)) operands.push_back(images_.lookup(operand.index));
  NodeId made = to_.add(from_.node(node).op, attrs, operands);
  assert(made.valid() && "a copy of a well-typed node is well typed");
  return made;
}

NodeId Translation::operator()(NodeId node) {
  llvm::SmallVector<NodeId, 16> worklist{node};
  while (!worklist.empty()) {
    NodeId next = worklist.back();
    if (images_.count(next.index)) {
      worklist.pop_back();
      continue;
    }
    size_t before = worklist.size();
    for (NodeId operand : from_.operands(next))
      if (!images_.count(operand.index)) worklist.push_back(operand);
    if (worklist.size() != before) continue;
    images_[next.index] = copy(next);
    worklist.pop_back();
  }
  return images_.lookup(node.index);
}

DerivationStep Translation::step(const DerivationStep& step) {
  DerivationStep out = step;
  for (NodeId& node : out.classes)
    if (node.valid()) node = (*this)(node);
  for (ValueId& id : out.values) id = value(id);
  for (Exchange& exchange : out.exchanges)
    exchange = {(*this)(exchange.from), (*this)(exchange.to), exchange.side};
  return out;
}

Derivation derivation_of(const Graph& graph) {
  Derivation chain(graph.shared_symbols());
  Translation into(graph, chain.terms);
  for (const GraphOutput& output : graph.outputs()) chain.start.push_back(into(output.node));
  chain.end = chain.start;
  return chain;
}

void add_steps(Derivation& whole, const Derivation& next, Translation& into) {
  for (const DerivationStep& step : next.steps) whole.steps.push_back(into.step(step));
  for (const DerivationStep& maker : next.makers) whole.makers.push_back(into.step(maker));
}

void append(Derivation& whole, const Derivation& next) {
  Translation into(next.terms, whole.terms);
  add_steps(whole, next, into);
  for (size_t o = 0; o < whole.end.size(); ++o) whole.end[o] = into(next.end[o]);
}

void trim(Derivation& chain) {
  TermClosure closure(chain.terms);
  for (uint32_t i = 0; i < chain.steps.size(); ++i)
    for (const Exchange& exchange : chain.steps[i].exchanges)
      closure.merge(exchange.from, exchange.to, i);
  closure.include_new_nodes();
  std::vector<bool> needed(chain.steps.size());
  for (const TermClosure::Edge& edge :
       closure.proof(chain.start, chain.end, TermClosure::ProofPaths::Forest))
    needed[edge.why] = true;
  Derivation kept(chain.terms.shared_symbols());
  Translation into(chain.terms, kept.terms);
  for (NodeId node : chain.start) kept.start.push_back(into(node));
  for (const DerivationStep& maker : chain.makers) kept.makers.push_back(into.step(maker));
  for (size_t i = 0; i < chain.steps.size(); ++i)
    (needed[i] ? kept.steps : kept.makers).push_back(into.step(chain.steps[i]));
  for (NodeId node : chain.end) kept.end.push_back(into(node));
  chain = std::move(kept);
}

Graph graph_of(const Derivation& chain, llvm::ArrayRef<NodeId> outputs, const Graph& like) {
  Graph graph(chain.terms.shared_symbols(), like.name());
  bool same = &like.symbols() == &graph.symbols();
  for (NodeId input : like.inputs()) {
    llvm::SmallVector<ValueId, 2> attrs;
    for (ValueId value : like.attrs(input))
      attrs.push_back(same ? value : graph.symbols().value(like.symbols().value(value)));
    graph.add(OpKind::Input, attrs, {});
  }
  Translation into(chain.terms, graph);
  for (size_t o = 0; o < outputs.size(); ++o)
    graph.add_output(like.outputs()[o].name, into(outputs[o]));
  return graph;
}

} // namespace tg
