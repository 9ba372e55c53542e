#include "compiler/verify/join.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>

namespace tg {

namespace {

/// Types of leaves by name. An input and a weight may share a name.
struct Leaves {
  llvm::StringMap<TensorType> inputs, weights;
};

Leaves leaves_of(const Graph& graph) {
  Leaves leaves;
  for (NodeId id : graph.inputs())
    leaves.inputs.try_emplace(graph.attr(id, 0).text, graph.type(id));
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.node({i}).op == OpKind::Weight)
      leaves.weights.try_emplace(graph.attr({i}, 0).text, graph.type({i}));
  return leaves;
}

Diagnostic differ(llvm::StringRef what, llvm::StringRef name, const TensorType& a,
                  const TensorType& b) {
  return error(Code::models_differ, "the {0} `{1}` is {2} in one model and {3} in the other", what,
               name, a.text(), b.text());
}

Result<void> same_inputs(const Graph& a, const Leaves& in_a, const Graph& b, const Leaves& in_b) {
  for (auto [one, leaves, other] : {std::tuple(&a, &in_b, &b), std::tuple(&b, &in_a, &a)})
    for (NodeId id : one->inputs()) {
      const std::string& name = one->attr(id, 0).text;
      auto at = leaves->inputs.find(name);
      if (at == leaves->inputs.end())
        return error(Code::models_differ, "the input `{0}` of {1} is not in {2}", name, one->name(),
                     other->name());
      if (!(at->second == one->type(id))) return differ("input", name, one->type(id), at->second);
    }
  return {};
}

Result<void> same_weights(const Leaves& a, const Graph& b) {
  for (uint32_t i = 0; i < b.size(); ++i) {
    if (b.node({i}).op != OpKind::Weight) continue;
    auto at = a.weights.find(b.attr({i}, 0).text);
    if (at != a.weights.end() && !(at->second == b.type({i})))
      return differ("weight", at->first(), at->second, b.type({i}));
  }
  return {};
}

Result<void> same_outputs(const Graph& a, const Graph& b) {
  if (a.outputs().size() != b.outputs().size())
    return error(Code::models_differ, "{0} has {1} outputs, but {2} has {3}", a.name(),
                 a.outputs().size(), b.name(), b.outputs().size());
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    const GraphOutput &x = a.outputs()[i], &y = b.outputs()[i];
    if (x.name != y.name)
      return error(Code::models_differ, "output {0} is `{1}` in one model and `{2}` in the other",
                   i, x.name, y.name);
    if (!(a.type(x.node) == b.type(y.node)))
      return differ("output", x.name, a.type(x.node), b.type(y.node));
  }
  return {};
}

/// Copies the nodes that the outputs of `from` need.
std::vector<NodeId> copy(const Graph& from, Graph& to) {
  std::vector<bool> needed = from.reachable();
  std::vector<NodeId> copies(from.size());
  for (uint32_t i = 0; i < from.size(); ++i) {
    if (!needed[i]) continue;
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from.operands({i})) operands.push_back(copies[operand.index]);
    copies[i] = copy_node(from, {i}, operands, to);
  }
  std::vector<NodeId> outputs;
  for (const GraphOutput& output : from.outputs()) outputs.push_back(copies[output.node.index]);
  return outputs;
}

} // namespace

NodeId copy_node(const Graph& from, NodeId id, llvm::ArrayRef<NodeId> operands, Graph& to) {
  OpKind op = from.node(id).op;
  if (op == OpKind::Weight) return to.weight(from.attr(id, 0).text, from.type(id));
  llvm::SmallVector<ValueId, 4> attrs;
  for (size_t slot = 0; slot < from.attrs(id).size(); ++slot)
    attrs.push_back(to.symbols().value(from.attr(id, slot)));
  NodeId copy = to.add(op, attrs, operands);
  assert(copy.valid() && "a copy of a well-typed node is well typed");
  return copy;
}

std::string unused_prefix(const Graph& graph, llvm::StringRef prefix) {
  std::string text = prefix.str();
  auto begins_with = [&](NodeId input) {
    return llvm::StringRef(graph.attr(input, 0).text).startswith(text);
  };
  while (llvm::any_of(graph.inputs(), begins_with)) text += "'";
  return text;
}

Result<Joined> join(const Graph& a, const Graph& b) {
  Leaves in_a = leaves_of(a), in_b = leaves_of(b);
  TG_CHECK(same_inputs(a, in_a, b, in_b));
  TG_CHECK(same_weights(in_a, b));
  TG_CHECK(same_outputs(a, b));
  Joined joined{Graph(std::make_shared<Symbols>(), a.name()), {}, {}, {}, {}};
  joined.a = copy(a, joined.graph);
  joined.b = copy(b, joined.graph);
  for (const GraphOutput& output : a.outputs()) joined.names.push_back(output.name);
  return joined;
}

} // namespace tg
