#include "compiler/search/chosen_graph.h"

namespace tg {

Graph graph_of(const EGraph& egraph, const Graph& source, llvm::ArrayRef<ENodeId> nodes) {
  Graph out(egraph.shared_symbols(), source.name());
  for (NodeId input : source.inputs()) out.add(OpKind::Input, source.attrs(input), {});
  std::vector<NodeId> built(egraph.class_bound());
  for (ENodeId id : nodes) {
    llvm::SmallVector<NodeId, 5> operands;
    for (ClassId child : egraph.children(id)) operands.push_back(built[egraph.find(child).index]);
    const ENode& node = egraph.node(id);
    NodeId added = out.add(node.op, egraph.symbols().attrs(node.attrs), operands);
    assert(added.valid() && "the nodes of an e-graph are well typed");
    built[class_of(egraph, id).index] = added;
  }
  for (const EGraphRoot& root : egraph.roots())
    out.add_output(root.name, built[egraph.find(root.id).index]);
  return out;
}

} // namespace tg
