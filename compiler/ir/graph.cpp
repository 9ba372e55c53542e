#include "compiler/ir/graph.h"

#include "compiler/ir/updated.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg {

namespace {

uint64_t hash_of(OpKind op, AttrsId attrs, llvm::ArrayRef<NodeId> operands) {
  uint64_t h = (static_cast<uint64_t>(op) << 32) | attrs.index;
  for (NodeId id : operands) h = static_cast<uint64_t>(llvm::hash_combine(h, id.index));
  return static_cast<uint64_t>(llvm::hash_value(h)) >> 2; // DenseMap reserves the largest keys
}

} // namespace

Graph::Graph(std::shared_ptr<Symbols> symbols, std::string name)
    : symbols_(std::move(symbols)), name_(std::move(name)) {}

NodeId Graph::add(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> operands,
                  std::string* why) {
  llvm::SmallVector<ValueId, 4> normal(attrs.begin(), attrs.end());
  llvm::SmallVector<TypeId, 6> types;
  bool weight_only = true;
  for (NodeId id : operands) {
    types.push_back(node(id).type);
    weight_only &= node(id).weight_only;
  }
  TypeId type;
  if (!infer(*symbols_, op, normal, types, type, why)) return {};
  AttrsId attrs_id = symbols_->attrs(normal);
  weight_only &= is_known_at_load(*symbols_, op, attrs_id);
  auto& bucket = index_[hash_of(op, attrs_id, operands)];
  for (uint32_t index : bucket) {
    const Node& n = nodes_[index];
    if (n.op == op && n.attrs == attrs_id && this->operands({index}) == operands) return {index};
  }
  NodeId id{static_cast<uint32_t>(nodes_.size())};
  bucket.push_back(id.index);
  nodes_.push_back({op, attrs_id, type, static_cast<uint32_t>(operands_.size()),
                    static_cast<uint32_t>(operands.size()), weight_only});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  if (op == OpKind::Input) inputs_.push_back(id);
  return id;
}

NodeId Graph::none() { return add(OpKind::None, {}, {}); }

NodeId Graph::input(llvm::StringRef name, const TensorType& type) {
  return add(OpKind::Input,
             {symbols_->value(Value::of_string(name)), symbols_->value(Value::of_type(type))}, {});
}

NodeId Graph::weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init) {
  return add(OpKind::Weight,
             {symbols_->value(Value::of_string(path)), symbols_->value(Value::of_type(type)),
              symbols_->value(Value::of_string(init))},
             {});
}

NodeId Graph::constant(std::vector<double> values, const TensorType& type) {
  if (type.elements() == 0) values.clear(); // one form for each type
  return add(
      OpKind::Constant,
      {symbols_->value(Value::of_floats(std::move(values))), symbols_->value(Value::of_type(type))},
      {});
}

NodeId Graph::whole_constant(llvm::ArrayRef<int64_t> values, const TensorType& type) {
  if (type.elements() == 0) return constant({}, type);
  return add(OpKind::Constant,
             {symbols_->value(Value::of_ints(values)), symbols_->value(Value::of_type(type))}, {});
}

std::vector<bool> Graph::reachable() const {
  std::vector<bool> needed(nodes_.size());
  for (const GraphOutput& output : outputs_) needed[output.node.index] = true;
  for (size_t i = nodes_.size(); i-- > 0;) { // users come after operands
    if (!needed[i]) continue;
    for (NodeId operand : operands({static_cast<uint32_t>(i)})) needed[operand.index] = true;
  }
  return needed;
}

size_t Graph::op_count() const {
  std::vector<bool> needed = reachable();
  size_t count = 0;
  for (size_t i = 0; i < nodes_.size(); ++i)
    count += needed[i] && !op_info(nodes_[i].op).has(Trait::Leaf);
  return count;
}

std::string verify(const Graph& graph) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node({i});
    llvm::SmallVector<TypeId, 6> types;
    bool weight_only = is_known_at_load(graph.symbols(), n.op, n.attrs);
    for (NodeId operand : graph.operands({i})) {
      if (operand.index >= i)
        return llvm::formatv("node {0} comes before its operand {1}", i, operand.index);
      types.push_back(graph.node(operand).type);
      weight_only &= graph.node(operand).weight_only;
    }
    if (weight_only != n.weight_only)
      return llvm::formatv("node {0} has a wrong weight-only flag", i);
    llvm::SmallVector<ValueId, 4> attrs(graph.attrs({i}).begin(), graph.attrs({i}).end());
    TypeId type;
    std::string why;
    if (!infer(graph.symbols(), n.op, attrs, types, type, &why))
      return llvm::formatv("node {0} ({1}) is ill-typed: {2}", i, op_info(n.op).name, why);
    if (!(type == n.type))
      return llvm::formatv("the type of node {0} differs from the type inferred from its operands",
                           i);
    if (!(graph.symbols().attrs(attrs) == n.attrs))
      return llvm::formatv("the attributes of node {0} are not in normal form", i);
  }
  for (const GraphOutput& output : graph.outputs())
    if (output.node.index >= graph.size())
      return "the output " + output.name + " does not name a node";
  return {};
}

std::string dump(const Graph& graph) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const OpInfo& info = op_info(graph.node({i}).op);
    out << '%' << i << " = " << info.name << '(';
    llvm::StringRef separator = "";
    for (NodeId operand : graph.operands({i})) {
      out << separator << '%' << operand.index;
      separator = ", ";
    }
    out << ')';
    separator = " {";
    for (size_t slot = 0; slot < graph.attrs({i}).size(); ++slot) {
      out << separator << info.attrs()[slot].name << " = " << graph.attr({i}, slot).text_form();
      separator = ", ";
    }
    if (!graph.attrs({i}).empty()) out << '}';
    out << " : " << graph.type({i}).text() << '\n';
  }
  for (const GraphOutput& output : graph.outputs())
    out << "output " << output.name << " = %" << output.node.index << '\n';
  return out.str();
}

} // namespace tg
