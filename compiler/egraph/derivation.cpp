#include "compiler/egraph/derivation.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace tg {

std::vector<NodeId> reachable_from(const Graph& graph, llvm::ArrayRef<NodeId> roots) {
  llvm::DenseMap<uint32_t, bool> seen;
  std::vector<NodeId> found;
  auto see = [&](NodeId node) {
    if (seen.try_emplace(node.index, true).second) found.push_back(node);
  };
  for (NodeId root : roots) see(root);
  for (size_t i = 0; i < found.size(); ++i)
    for (NodeId operand : graph.operands(found[i])) see(operand);
  std::sort(found.begin(), found.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
  return found;
}

std::vector<NodeId> exchanged(Graph& terms, llvm::ArrayRef<NodeId> roots,
                              llvm::ArrayRef<Exchange> exchanges) {
  llvm::DenseMap<uint32_t, NodeId> image;
  for (const Exchange& exchange : exchanges) image[exchange.from.index] = exchange.to;
  auto of = [&](NodeId node) {
    auto found = image.find(node.index);
    return found == image.end() ? node : found->second;
  };
  for (NodeId node : reachable_from(terms, roots)) { // operands come first
    if (image.count(node.index)) continue;
    llvm::SmallVector<NodeId, 6> operands;
    bool changed = false;
    for (NodeId operand : terms.operands(node)) {
      operands.push_back(of(operand));
      changed |= !(operands.back() == operand);
    }
    if (!changed) continue;
    llvm::SmallVector<ValueId, 6> attrs(terms.attrs(node).begin(), terms.attrs(node).end());
    NodeId made = terms.add(terms.node(node).op, attrs, operands);
    assert(made.valid() && "equal types below, equal types above");
    image[node.index] = made;
  }
  std::vector<NodeId> out;
  for (NodeId root : roots) out.push_back(of(root));
  return out;
}

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
  assert(made.valid() && "what was well typed is so elsewhere");
  return made;
}

NodeId Translation::operator()(NodeId node) {
  llvm::SmallVector<NodeId, 16> todo{node};
  while (!todo.empty()) {
    NodeId next = todo.back();
    if (images_.count(next.index)) {
      todo.pop_back();
      continue;
    }
    size_t before = todo.size();
    for (NodeId operand : from_.operands(next))
      if (!images_.count(operand.index)) todo.push_back(operand);
    if (todo.size() != before) continue;
    images_[next.index] = copy(next);
    todo.pop_back();
  }
  return images_.lookup(node.index);
}

Derivation derivation_of(const Graph& graph) {
  Derivation chain(graph.shared_symbols());
  Translation into(graph, chain.terms);
  for (const GraphOutput& output : graph.outputs()) chain.start.push_back(into(output.node));
  return chain;
}

void append(Derivation& whole, const Derivation& next) {
  Translation into(next.terms, whole.terms);
  for (const DerivationStep& step : next.steps) {
    DerivationStep copy = step;
    for (NodeId& node : copy.classes)
      if (node.valid()) node = into(node);
    for (ValueId& value : copy.values) value = into.value(value);
    for (Exchange& exchange : copy.exchanges)
      exchange = {into(exchange.from), into(exchange.to), exchange.side};
    for (NodeId& node : copy.after) node = into(node);
    whole.steps.push_back(std::move(copy));
  }
}

void cut_loops(Derivation& chain) {
  auto key = [](llvm::ArrayRef<NodeId> outputs) {
    std::vector<uint32_t> words;
    for (NodeId node : outputs) words.push_back(node.index);
    return words;
  };
  std::vector<DerivationStep> kept;
  std::map<std::vector<uint32_t>, size_t> at{{key(chain.start), 0}}; // steps kept before a graph
  for (DerivationStep& step : chain.steps) {
    std::vector<uint32_t> words = key(step.after);
    if (auto known = at.find(words); known != at.end()) {
      for (size_t i = known->second; i < kept.size(); ++i)
        if (auto gone = at.find(key(kept[i].after)); gone->second > known->second) at.erase(gone);
      kept.resize(known->second);
      continue;
    }
    kept.push_back(std::move(step));
    at[std::move(words)] = kept.size();
  }
  chain.steps = std::move(kept);
}

Graph graph_at(const Derivation& chain, size_t i, const Graph& like) {
  Graph graph(chain.terms.shared_symbols(), like.name());
  bool same = &like.symbols() == &graph.symbols();
  for (NodeId input : like.inputs()) {
    llvm::SmallVector<ValueId, 2> attrs;
    for (ValueId value : like.attrs(input))
      attrs.push_back(same ? value : graph.symbols().value(like.symbols().value(value)));
    graph.add(OpKind::Input, attrs, {});
  }
  Translation into(chain.terms, graph);
  llvm::ArrayRef<NodeId> outputs = chain.outputs(i);
  for (size_t o = 0; o < outputs.size(); ++o)
    graph.add_output(like.outputs()[o].name, into(outputs[o]));
  return graph;
}

} // namespace tg
