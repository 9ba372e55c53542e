#include "compiler/ir/updated.h"

#include <llvm/ADT/DenseSet.h>

namespace tg {

namespace {

constexpr llvm::StringLiteral kMark = "updated ";
constexpr size_t kInitSlot = 2;

} // namespace

bool is_updated(const Symbols& symbols, OpKind op, AttrsId attrs) {
  if (op != OpKind::Weight) return false;
  llvm::StringRef init = symbols.value(symbols.attrs(attrs)[kInitSlot]).text;
  return init.startswith(kMark);
}

llvm::StringRef declared_init(const Graph& graph, NodeId weight) {
  llvm::StringRef init = graph.attr(weight, kInitSlot).text;
  init.consume_front(kMark);
  return init;
}

std::string updated_init(llvm::StringRef declared) { return (kMark + declared).str(); }

llvm::StringMap<NodeId> updated_weights(const Graph& graph) {
  llvm::StringMap<NodeId> found;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (is_updated(graph, {i})) found[graph.attr({i}, 0).text] = {i};
  return found;
}

Graph with_updated(const Graph& graph, llvm::ArrayRef<NodeId> weights) {
  Graph result(graph.shared_symbols(), graph.name());
  std::vector<NodeId> at(graph.size());
  llvm::DenseSet<uint32_t> chosen;
  for (NodeId weight : weights) chosen.insert(weight.index);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    llvm::SmallVector<ValueId, 6> attrs(graph.attrs({i}).begin(), graph.attrs({i}).end());
    llvm::SmallVector<NodeId, 6> operands;
    for (NodeId operand : graph.operands({i})) operands.push_back(at[operand.index]);
    if (chosen.contains(i) && !is_updated(graph, {i}))
      attrs[kInitSlot] =
          graph.symbols().value(Value::of_string(updated_init(declared_init(graph, {i}))));
    at[i] = result.add(graph.node({i}).op, attrs, operands);
  }
  for (const GraphOutput& output : graph.outputs())
    result.add_output(output.name, at[output.node.index]);
  return result;
}

} // namespace tg
