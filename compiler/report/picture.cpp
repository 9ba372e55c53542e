#include "compiler/report/picture.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/Hashing.h>

namespace tg {

namespace {

bool is_default(const Graph& graph, NodeId id, const AttrInfo& attr, const Value& value) {
  Value plain = default_value(attr);
  if (attr.kind == AttrKind::axis && plain.number < 0 && !graph.operands(id).empty())
    plain.number += graph.type(graph.operands(id)[0]).rank(); // the normal form
  return !attr.required && plain == value;
}

/// Lists the attributes that are not defaults: "stride = [2, 2], act = relu".
std::string attributes(const Graph& graph, NodeId id) {
  std::string text;
  llvm::ArrayRef<AttrInfo> attrs = op_info(graph.node(id).op).attrs();
  for (size_t slot = 0; slot < attrs.size(); ++slot) {
    const Value& value = graph.attr(id, slot);
    if (is_default(graph, id, attrs[slot], value)) continue;
    text += (text.empty() ? "" : ", ") + std::string(attrs[slot].name) + " = " + value.text_form();
    if (text.size() > 120) return text.substr(0, 117) + "...";
  }
  return text;
}

/// Describes an operand that is known when the model is loaded.
std::string known_operand(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string type = graph.type(id).text();
  if (node.op == OpKind::Weight) return graph.attr(id, 0).text + ": " + type;
  if (node.op == OpKind::Constant && graph.type(id).rank() == 0) {
    std::string text = graph.attr(id, 0).text_form();
    llvm::StringRef value = llvm::StringRef(text).trim("[]");
    return value.str();
  }
  return "at load: " + type; // computed from weights alone
}

void read_operands(const Graph& graph, NodeId id, llvm::ArrayRef<uint32_t> number,
                   PictureNode& node) {
  for (NodeId operand : graph.operands(id)) {
    if (number[operand.index] != UINT32_MAX)
      node.operands.push_back(number[operand.index]);
    else if (graph.node(operand).op != OpKind::None)
      node.weights.push_back(known_operand(graph, operand));
  }
}

/// Returns hashes of all nodes, independent of numbering and symbols: operator, attributes, types
/// and the leaves used. Changes of operands further up are ignored; otherwise every node after the
/// first change would differ.
std::vector<uint64_t> node_hashes(const Graph& graph) {
  std::vector<uint64_t> hashes(graph.size());
  auto attrs_of = [&](NodeId node, llvm::hash_code hash) {
    for (ValueId value : graph.attrs(node))
      hash = llvm::hash_combine(hash, graph.symbols().value(value).text_form());
    return hash;
  };
  for (uint32_t i = 0; i < graph.size(); ++i) {
    llvm::hash_code hash = attrs_of({i}, static_cast<size_t>(graph.node({i}).op));
    hash = llvm::hash_combine(hash, graph.type({i}).text());
    for (NodeId operand : graph.operands({i})) {
      bool leaf = op_info(graph.node(operand).op).has(Trait::Leaf);
      hash = leaf ? attrs_of(operand, hash) : llvm::hash_combine(hash, graph.type(operand).text());
    }
    hashes[i] = static_cast<uint64_t>(hash);
  }
  return hashes;
}

} // namespace

Picture picture_of(const Graph& graph) {
  Picture picture{graph.name(), {}};
  std::vector<bool> needed = graph.reachable();
  std::vector<uint32_t> number(graph.size(), UINT32_MAX);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    bool input = node.op == OpKind::Input;
    if (!needed[i] || node.weight_only || (op_info(node.op).has(Trait::Leaf) && !input)) continue;
    number[i] = static_cast<uint32_t>(picture.nodes.size());
    PictureNode made;
    made.op = op_info(node.op).name;
    made.type = graph.type({i}).text();
    if (input)
      made.name = graph.attr({i}, 0).text;
    else
      made.attrs = attributes(graph, {i});
    made.id = NodeId{i};
    read_operands(graph, {i}, number, made);
    picture.nodes.push_back(std::move(made));
  }
  for (const GraphOutput& output : graph.outputs())
    if (uint32_t at = number[output.node.index]; at != UINT32_MAX)
      picture.nodes[at].outputs.push_back(output.name);
  return picture;
}

Picture picture_with_changes(const Graph& graph, const Graph& other) {
  std::vector<uint64_t> hashes = node_hashes(graph);
  llvm::DenseSet<uint64_t> known;
  for (uint64_t hash : node_hashes(other)) known.insert(hash >> 2);
  Picture picture = picture_of(graph);
  for (PictureNode& node : picture.nodes)
    node.changed = !known.contains(hashes[node.id->index] >> 2);
  return picture;
}

} // namespace tg
