#include "compiler/search/explorer.h"

namespace tg {

namespace {

constexpr int kMostLevels = 8; // deeper leaves do not identify the place

/// Returns the name of the first leaf of that kind in the class, or "" if there is none.
std::string leaf_name(const EGraph& egraph, ClassId cls, OpKind kind) {
  for (ENodeId id : egraph.nodes(egraph.find(cls))) {
    const ENode& node = egraph.node(id);
    if (node.op == kind) return egraph.symbols().attr(node.attrs, 0).text;
  }
  return "";
}

std::string operand_name(const EGraph& egraph, ENodeId node, OpKind kind) {
  for (ClassId child : egraph.children(node))
    if (std::string name = leaf_name(egraph, child, kind); !name.empty()) return name;
  return "";
}

} // namespace

std::string place_text(const EGraph& egraph, ENodeId node) {
  OpKind op = egraph.node(node).op;
  std::string text(op_info(op).name);
  text += " " + egraph.symbols().type(class_at(egraph, class_of(egraph, node)).type).text();
  for (OpKind kind : {OpKind::Weight, OpKind::Input}) { // weights name a place better than inputs
    ENodeId at = node;
    for (int level = 0; level < kMostLevels; ++level) {
      if (std::string name = operand_name(egraph, at, kind); !name.empty())
        return text + " of " + name;
      llvm::ArrayRef<ClassId> children = egraph.children(at);
      if (children.empty()) break;
      at = *egraph.nodes(egraph.find(children.front())).begin();
    }
  }
  return text;
}

} // namespace tg
