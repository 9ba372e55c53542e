// Both graphs are hash-consed, so equal graphs have one-to-one nodes: a walk from the outputs pairs
// them up and fails at the first pair that does not match.
#include "compiler/ir/graph.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/SHA1.h>

namespace tg {

namespace {

std::string node_text(const Graph& graph, NodeId id) {
  std::string text(op_info(graph.node(id).op).name);
  for (size_t i = 0; i < graph.attrs(id).size(); ++i)
    text += (i ? ", " : " {") + graph.attr(id, i).text_form();
  if (!graph.attrs(id).empty()) text += "}";
  return text + " : " + graph.type(id).text();
}

/// Compares kind, attributes, type and operand count. The caller compares the operands.
bool same_node(const Graph& a, NodeId x, const Graph& b, NodeId y) {
  if (a.node(x).op != b.node(y).op || a.type(x).text() != b.type(y).text()) return false;
  if (a.attrs(x).size() != b.attrs(y).size()) return false;
  for (size_t i = 0; i < a.attrs(x).size(); ++i)
    if (!(a.attr(x, i) == b.attr(y, i))) return false;
  return a.operands(x).size() == b.operands(y).size();
}

} // namespace

std::string difference(const Graph& a, const Graph& b) {
  if (a.inputs().size() != b.inputs().size())
    return llvm::formatv("{0} inputs and {1}", a.inputs().size(), b.inputs().size());
  if (a.outputs().size() != b.outputs().size())
    return llvm::formatv("{0} outputs and {1}", a.outputs().size(), b.outputs().size());
  std::vector<std::pair<NodeId, NodeId>> open;
  for (size_t i = 0; i < a.inputs().size(); ++i) open.push_back({a.inputs()[i], b.inputs()[i]});
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    if (a.outputs()[i].name != b.outputs()[i].name)
      return llvm::formatv("output {0} is `{1}` and `{2}`", i, a.outputs()[i].name,
                           b.outputs()[i].name);
    open.push_back({a.outputs()[i].node, b.outputs()[i].node});
  }
  std::vector<NodeId> partner(a.size()), back(b.size());
  while (!open.empty()) {
    auto [x, y] = open.back();
    open.pop_back();
    if (partner[x.index] == y && back[y.index] == x) continue;
    bool taken = partner[x.index].valid() || back[y.index].valid();
    if (taken || !same_node(a, x, b, y))
      return llvm::formatv("{0}   and   {1}{2}", node_text(a, x), node_text(b, y),
                           taken ? "   (shared in one, not in the other)" : "");
    partner[x.index] = y;
    back[y.index] = x;
    for (size_t i = 0; i < a.operands(x).size(); ++i)
      open.push_back({a.operands(x)[i], b.operands(y)[i]});
  }
  return {};
}

std::string digest(const Graph& graph) {
  std::vector<std::string> of_node(graph.size()); // including everything below it
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i]) continue;
    llvm::SHA1 hash;
    hash.update(node_text(graph, {i}));
    for (NodeId operand : graph.operands({i})) hash.update(of_node[operand.index]);
    of_node[i] = hash.final().str();
  }
  llvm::SHA1 hash;
  for (NodeId input : graph.inputs()) hash.update(node_text(graph, input));
  for (const GraphOutput& output : graph.outputs()) {
    hash.update(output.name);
    hash.update(of_node[output.node.index]);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

} // namespace tg
