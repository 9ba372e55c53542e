#include "compiler/ir/text/body.h"

#include "compiler/ir/updated.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace tg::text {

std::string Body::fresh(std::string name) {
  std::string candidate = name;
  bool numbered = llvm::isDigit(name.back()) || options_.names;
  size_t n =
      options_.names && !taken_.contains(name) ? 1 : 2; // the plain word has a different meaning
  for (; !free(candidate); ++n) candidate = name + (numbered ? "_" : "") + std::to_string(n);
  taken_.insert(candidate);
  return candidate;
}

bool Body::free(llvm::StringRef name) const { return !taken_.contains(name) && !is_word(name); }

void Body::take_sizes() {
  if (!options_.open) return;
  for (const OpenText::Parameter& parameter : options_.open->parameters)
    taken_.insert(parameter.name);
}

std::string Body::constant_of(NodeId id, bool mixed) const {
  const TensorType& type = graph_.type(id);
  const Value& values = graph_.attr(id, 0);
  ConstantParts parts{integers_.list(type.shape, id, IntegerPlace::kShape)};
  if (integers_.has_open(id, 0))
    for (uint32_t i = 0; i < values.reals.size() + values.ints.size(); ++i)
      if (const std::string* open = integers_.open({id.index, 0, i})) parts.open[i] = *open;
  return constant_text(words_, values, type, parts, mixed);
}

void Body::node(NodeId id) {
  const OpInfo& info = op_info(graph_.node(id).op);
  if (info.kind == OpKind::Input || info.kind == OpKind::None) return;
  if (info.kind == OpKind::Weight) return; // declared at its first use
  std::string text = info.kind == OpKind::Constant ? constant_of(id) : operator_text(id, info);
  bool once = uses_[id.index] <= 1 && text.size() <= kInline;
  bool scalar = info.kind == OpKind::Constant && graph_.type(id).rank() == 0;
  if (once || scalar)
    pending_[id.index] = std::move(text);
  else
    let(id, text);
}

void Body::let(NodeId id, llvm::StringRef text) {
  name_value(id);
  text_ += "  let " + names_[id.index] + " = " + text.str() + "\n";
}

void Body::name_value(NodeId id) {
  std::string op(op_info(graph_.node(id).op).name);
  if (graph_.node(id).op == OpKind::Extern) op = graph_.attr(id, 0).text;
  if (const GraphCall* call = call_of(id)) op = call->function;
  std::string& name = names_[id.index];
  if (std::string given = given_name(id); !given.empty()) {
    name = fresh(std::move(given));
  } else {
    do name = op + "_" + std::to_string(++numbers_[op]);
    while (!free(name));
    taken_.insert(name);
  }
}

std::string Body::given_name(NodeId id) const {
  if (!options_.names) return "";
  auto found = options_.names->find(id.index);
  if (found == options_.names->end()) return "";
  llvm::StringRef name = found->second;
  size_t at = scope_.empty() ? llvm::StringRef::npos : name.find(scope_);
  if (at == 0 || (at != llvm::StringRef::npos && name[at - 1] == '_')) {
    llvm::StringRef inside = name.drop_front(at + scope_.size());
    if (!inside.empty() && !llvm::isDigit(inside[0])) name = inside;
  }
  return identifier(shortened(name), "");
}

llvm::StringRef Body::shortened(llvm::StringRef name) {
  while (name.size() > kLongestName) {
    llvm::StringRef rest = name.drop_front(std::min(name.find('_'), name.size() - 1) + 1);
    if (rest.empty() || llvm::isDigit(rest[0])) break;
    name = rest;
  }
  return name;
}

llvm::ArrayRef<NodeId> Body::operands_of(NodeId id) const {
  const GraphCall* call = call_of(id);
  return call ? llvm::ArrayRef<NodeId>(call->operands) : graph_.operands(id);
}

void Body::declare_weight(NodeId id) {
  const std::string& path = graph_.attr(id, 0).text;
  std::string init = declared_init(graph_, id).str();
  std::string& name = names_[id.index];
  std::string given = given_name(id);
  if (given == "weight") given = "w"; // a word of the language
  name = fresh(given.empty() ? identifier(path, "w") : given);
  text_ += "  param " + name + ": " + integers_.type(id) + " = weight(" + path_text(id, path) +
           (init.empty() ? "" : ", init = " + init) + ")\n";
}

std::string Body::operand_text(NodeId id) {
  OpKind op = graph_.node(id).op;
  if (op == OpKind::None) return "none";
  if (op == OpKind::Weight && names_[id.index].empty()) declare_weight(id);
  if (!names_[id.index].empty()) return names_[id.index];
  auto it = pending_.find(id.index);
  if (it == pending_.end()) return "none"; // cannot happen: operands come first
  return it->second;
}

bool Body::has_sign(NodeId id) const {
  const Node& n = graph_.node(id);
  if (sign_of(n.op).text.empty() || call_of(id)) return false;
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  auto literal = [&](NodeId x) { return graph_.node(x).op == OpKind::Constant; };
  if (operands.size() == 1) return !literal(operands[0]);
  for (NodeId extra : operands.drop_front(2))
    if (graph_.node(extra).op != OpKind::None) return false;
  if (n.op == OpKind::Matmul && graph_.attr(id, 0).text != "none") return false;
  // `and` and `or` evaluate a literal before they look at the other side.
  if (op_info(n.op).has(Trait::Logical) && llvm::any_of(operands, literal)) return false;
  return !literal(operands[0]) || !literal(operands[1]);
}

std::string Body::sign_text(NodeId id) {
  Sign outer = sign_of(graph_.node(id).op);
  auto side = [&](size_t i) {
    NodeId operand = graph_.operands(id)[i];
    if (const std::string* open = integers_.open({operand.index, 0, 0}); open && is_number(operand))
      return llvm::StringRef(*open).contains(' ') ? "(" + *open + ")" : *open;
    if (is_number(operand)) // it takes the dtype of the other side
      return words_.text(graph_.attr(operand, 0), 0, graph_.type(operand).dtype);
    bool nested = names_[operand.index].empty() && has_sign(operand);
    Sign inner = sign_of(graph_.node(operand).op);
    std::string text = operand_text(operand);
    return nested && inner.is_wrapped_in(outer, i == 0) ? "(" + text + ")" : text;
  };
  if (outer.is_prefix()) return outer.text.str() + side(0);
  std::string left = side(0), right = side(1);
  return left + " " + outer.text.str() + " " + right;
}

void Body::shorten(llvm::ArrayRef<NodeId> operands, size_t name) {
  size_t length = name + 2;
  for (NodeId operand : operands) length += operand_text(operand).size() + 2;
  for (NodeId operand : operands) {
    auto it = pending_.find(operand.index);
    bool is_call = graph_.node(operand).op != OpKind::Constant;
    if (length <= options_.width || it == pending_.end() || !is_call) continue;
    length -= it->second.size();
    let(operand, std::move(it->second));
    pending_.erase(operand.index);
  }
}

std::string Body::operator_text(NodeId id, const OpInfo& info) {
  if (const GraphCall* call = call_of(id)) return call_text(*call);
  if (std::string text = bracket_text(id); !text.empty()) return text;
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  shorten(operands, info.name.size());
  if (has_sign(id)) return sign_text(id);
  if (info.kind == OpKind::Extern) return extern_text(id);
  if (info.kind == OpKind::Iota) return iota_text(id);
  std::string text(info.name), listed = operands_text(id, info);
  text += info.variadic() ? "([" + listed + "]" : "(" + listed;
  return text + attributes(id, info) + ")";
}

std::string Body::operands_text(NodeId id, const OpInfo& info) {
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  // sqrt of a number folds to a number in the language; here it is an operator.
  bool folds = is_const_function(info.name) &&
               llvm::all_of(operands, [&](NodeId x) { return is_number(x); });
  std::string text, separator;
  bool skipped = false; // positional text would bind to a wrong parameter
  for (size_t i = 0; i < operands.size(); ++i) {
    bool absent = graph_.node(operands[i]).op == OpKind::None;
    bool literal_operand = graph_.node(operands[i]).op == OpKind::Constant;
    skipped |= !info.variadic() && (absent || (info.operands()[i].optional && literal_operand));
    if (absent && !info.variadic()) continue;
    // A list in the position of an attribute would be read as that attribute.
    skipped |= !info.variadic() && info.operands()[i].optional &&
               llvm::StringRef(operand_text(operands[i])).startswith("[");
    if (skipped) separator += std::string(info.operands()[i].name) + " = ";
    bool literal = folds && graph_.type(operands[i]).dtype == DType::F32;
    text += separator;
    if (literal_operand && is_mixed(info, operands))
      text += constant_of(operands[i], true);
    else
      text += literal ? "full([], " + operand_text(operands[i]) + ")" : operand_text(operands[i]);
    separator = ", ";
  }
  return text;
}

std::string Body::bracket_text(NodeId id) {
  OpKind op = graph_.node(id).op;
  if (op == OpKind::Slice && is_bracket(id)) return bracket_text(id, range_text(id));
  if (op != OpKind::Reshape) return "";
  NodeId slice = graph_.operands(id)[0];
  bool index = graph_.node(slice).op == OpKind::Slice && pending_.count(slice.index) &&
               is_bracket(slice) && drops_axis(id, slice);
  return index ? bracket_text(slice,
                              integers_.text(graph_.attr(slice, 1).number, {slice.index, 1, 0}))
               : "";
}

bool Body::is_bracket(NodeId slice) const {
  NodeId of = graph_.operands(slice)[0];
  bool whole = range_text(slice) == ":";
  return !whole && graph_.node(of).op != OpKind::Constant && !call_of(slice);
}

bool Body::drops_axis(NodeId reshape, NodeId slice) const {
  std::vector<std::string> kept = integers_.sizes(slice);
  if (kept[axis_of(slice)] != "1") return false;
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis_of(slice)));
  return integers_.sizes(reshape) == kept;
}

std::string Body::range_text(NodeId slice) const {
  std::string size = integers_.sizes(graph_.operands(slice)[0])[axis_of(slice)];
  std::string start = integers_.text(graph_.attr(slice, 1).number, {slice.index, 1, 0});
  std::string stop = integers_.text(graph_.attr(slice, 2).number, {slice.index, 2, 0});
  return (start == "0" ? "" : start) + ":" + (stop == size ? "" : stop);
}

std::string Body::bracket_text(NodeId slice, const std::string& place) {
  NodeId of = graph_.operands(slice)[0];
  size_t axis = axis_of(slice);
  std::string text = operand_text(of), before;
  if (names_[of.index].empty() && has_sign(of)) text = "(" + text + ")";
  for (size_t i = 0; i < axis; ++i) before += ":, ";
  if (axis >= 2 && axis + 1 == static_cast<size_t>(graph_.type(of).rank())) before = "..., ";
  return text + "[" + before + place + "]";
}

std::string Body::call_text(const GraphCall& call) {
  shorten(call.operands, call.function.size());
  std::string text = call.function + "(";
  for (size_t i = 0; i < call.operands.size(); ++i)
    text += (i ? ", " : "") + operand_text(call.operands[i]);
  return text + call.attributes + ")";
}

std::string Body::extern_text(NodeId id) {
  std::string text = graph_.attr(id, 0).text + "(";
  llvm::StringRef separator = "";
  for (NodeId operand : graph_.operands(id)) {
    bool literal = graph_.node(operand).op == OpKind::Constant;
    text += separator;
    text += literal ? constant_of(operand, true) : operand_text(operand);
    separator = ", ";
  }
  return text + ")";
}

std::string Body::iota_text(NodeId id) const {
  TensorType type = graph_.type(id);
  int64_t axis = graph_.attr(id, 1).number;
  std::string text = "iota(" + integers_.list(type.shape, id, IntegerPlace::kShape);
  if (type.dtype != DType::F32) text += (", " + dtype_name(type.dtype)).str();
  return text + (axis == 0 ? ")" : ", axis = " + std::to_string(axis) + ")");
}

bool Body::is_mixed(const OpInfo& info, llvm::ArrayRef<NodeId> operands) const {
  return info.variadic() && llvm::any_of(operands, [&](NodeId x) {
           return graph_.type(x).dtype != graph_.type(operands[0]).dtype;
         });
}

namespace {

/// Returns true for a permutation that is the default (lang/check/resolve.cpp).
bool swaps_last_axes(const Value& perm) {
  auto rank = static_cast<int64_t>(perm.ints.size());
  return rank >= 2 && perm.ints == last_axes_swapped(rank);
}

} // namespace

std::string Body::attributes(NodeId id, const OpInfo& info) const {
  std::string text;
  for (size_t slot = 0; slot < info.attrs().size(); ++slot) {
    const AttrInfo& attr = info.attrs()[slot];
    const Value& value = graph_.attr(id, slot);
    bool open = integers_.has_open(id, static_cast<uint32_t>(slot));
    if (!attr.required && !open && is_default(id, attr, value)) continue;
    if (info.kind == OpKind::Transpose && swaps_last_axes(value)) continue;
    text += ", " + std::string(attr.name) + " = " +
            attribute_text(id, static_cast<uint32_t>(slot), attr.kind);
  }
  return text;
}

Value with_pad_numbers(const Value& value, AttrKind kind) {
  bool valid = kind == AttrKind::pad && value.is(Value::Kind::Enum) && value.text == "valid";
  return valid ? Value::of_ints({0, 0, 0, 0}) : value;
}

std::string Body::attribute_text(NodeId id, uint32_t slot, AttrKind kind) const {
  Value value = graph_.attr(id, slot);
  if (integers_.has_open(id, slot)) value = with_pad_numbers(value, kind);
  switch (value.kind) {
  case Value::Kind::Int: return integers_.text(value.number, {id.index, slot, 0});
  case Value::Kind::Ints: {
    std::vector<std::string> numbers = integers_.texts(value.ints, id, slot);
    bool pair = kind == AttrKind::pair && numbers.size() == 2 && numbers[0] == numbers[1];
    return pair ? numbers[0] : "[" + llvm::join(numbers, ", ") + "]";
  }
  case Value::Kind::Float: {
    const std::string* open = integers_.open({id.index, slot, 0});
    return open ? *open : words_.text(value.real);
  }
  default: return value.text_form();
  }
}

bool Body::is_default(NodeId id, const AttrInfo& attr, const Value& value) const {
  Value plain = default_value(attr);
  if (attr.kind == AttrKind::axis && plain.number < 0 && !graph_.operands(id).empty())
    plain.number += graph_.type(graph_.operands(id)[0]).rank(); // the normal form
  return plain == value;
}

} // namespace tg::text
