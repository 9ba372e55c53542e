// See to_text.h. One pass over the nodes in graph order, which is a legal order of statements. The
// text of a node that is used once waits in `pending_` until its user takes it in or, where that
// would be too long, is written out as a `let` just before. The formatter then lays out the lines.
#include "compiler/ir/to_text.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"
#include "lang/core/extern_signature.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace tg {

namespace {

/// Words that the grammar keeps; an operand or output of that name gets a `_` behind it.
bool reserved(llvm::StringRef name) {
  static constexpr llvm::StringLiteral kWords[] = {
      "and", "as", "else",  "extern", "false", "fn",      "for",  "if",  "in",  "let",  "not",
      "op",  "or", "model", "param",  "rule",  "ruleset", "true", "use", "var", "where"};
  return llvm::is_contained(kWords, name);
}

bool is_identifier(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text[0]) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// The text itself where it is an identifier.
std::string identifier(llvm::StringRef text, llvm::StringRef fallback) {
  if (is_identifier(text)) return text.str();
  std::string name;
  for (char c : text) {
    bool good = llvm::isAlnum(c) || c == '_';
    if (good) name += c;
    if (!good && !name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) name = fallback.str();
  if (!name.empty() && llvm::isDigit(name[0])) name = "_" + name;
  return name;
}

/// The sign between the operands of an operator that has one, or "".
llvm::StringRef infix_sign(OpKind op) {
  switch (op) {
  case OpKind::Add: return "+";
  case OpKind::Sub: return "-";
  case OpKind::Mul: return "*";
  case OpKind::Div: return "/";
  case OpKind::Matmul: return "@";
  default: return "";
  }
}

/// `+ -` bind weaker than `* / @`; operators of one strength group from the left.
int strength(OpKind op) { return op == OpKind::Add || op == OpKind::Sub ? 1 : 2; }

/// As it stands in a model: `bool` alone would be a bool of compile time.
std::string type_text(const TensorType& type) {
  bool ambiguous = type.shape.empty() && type.dtype == DType::Bool;
  return ambiguous ? type.text() + "[]" : type.text();
}

/// What stands for the numbers that have no digits: names, unless inputs have these.
struct NumberWords {
  std::string inf = "inf", nan = "nan";

  std::string text(double x) const {
    if (std::isnan(x)) return nan;
    if (std::isinf(x)) return x < 0 ? "-" + inf : inf;
    return Value::of_float(x).text_form();
  }
  /// An element as it is written: `0.5`, `3`, `true`.
  std::string text(double x, DType dtype) const {
    if (dtype == DType::Bool) return x != 0 ? "true" : "false";
    if (dtype == DType::I32 || dtype == DType::I64) return std::to_string(static_cast<int64_t>(x));
    return text(x);
  }
  /// The literal for an element of a constant.
  std::string text(const Value& values, size_t i, DType dtype) const {
    if (values.is(Value::Kind::Ints)) return std::to_string(values.ints[i]);
    return text(values.reals[i], dtype);
  }
};

/// Elements as nested lists under the shape; one number stands for `full`. A literal is f32 unless
/// it says otherwise, or stands (`mixed`) among operands of other dtypes and would take theirs.
std::string constant_text(const NumberWords& words, const Value& values, const TensorType& type,
                          bool mixed = false) {
  auto number = [&](size_t i) { return words.text(values, i, type.dtype); };
  bool plain = type.dtype == DType::F32 && !mixed;
  std::string dtype = plain ? "" : (", " + dtype_name(type.dtype)).str();
  int64_t elements = type.elements();
  if (elements == 0) return "zeros(" + Value::of_ints(type.shape).text_form() + dtype + ")";
  if (type.shape.empty()) return plain ? number(0) : "tensor(" + number(0) + dtype + ")";
  if (values.reals.size() + values.ints.size() == 1 && elements != 1) {
    std::string shape = Value::of_ints(type.shape).text_form();
    double first = values.reals.empty() ? 2 : values.reals[0];
    if (first == 0 && !std::signbit(first)) return "zeros(" + shape + dtype + ")";
    if (first == 1) return "ones(" + shape + dtype + ")";
    return "full(" + shape + ", " + number(0) + dtype + ")";
  }
  std::string text = plain ? "" : "tensor(";
  for (int64_t i = 0; i < elements; ++i) {
    if (i) text += ", ";
    // A bracket opens or closes where the index is a multiple of the elements below an axis.
    for (int64_t axis = 0, below = elements; axis < type.rank(); below /= type[axis++])
      if (i % below == 0) text += '[';
    text += number(static_cast<size_t>(i));
    for (int64_t axis = 0, below = elements; axis < type.rank(); below /= type[axis++])
      if ((i + 1) % below == 0) text += ']';
  }
  return plain ? text : text + dtype + ")";
}

/// What the bodies of one file share.
struct File {
  const Graph& graph;
  const TextOptions& options;
  llvm::DenseMap<uint32_t, const GraphCall*> calls{}; // by root
  llvm::StringSet<> taken = {};                       // names of the model and its inputs
  llvm::StringSet<> functions = {};                   // names that are called
};

/// Statements of one body: of the model, or of a function that a part of it becomes.
class Body {
public:
  explicit Body(File& file)
      : file_(file), graph_(file.graph), options_(file.options), uses_(file.graph.size()),
        names_(file.graph.size()) {}

protected:
  /// A name that nothing else has: neither a word of the language nor an operator.
  std::string fresh(std::string name) {
    std::string candidate = name;
    bool numbered = llvm::isDigit(name.back()) || options_.names;
    size_t n =
        options_.names && !taken_.contains(name) ? 1 : 2; // the word itself means another thing
    for (; !free(candidate); ++n) candidate = name + (numbered ? "_" : "") + std::to_string(n);
    taken_.insert(candidate);
    return candidate;
  }

  bool free(llvm::StringRef name) const {
    return !taken_.contains(name) && !reserved(name) && !find_op(name) && !is_constant_name(name) &&
           llvm::none_of(all_builtins(), [&](const BuiltinInfo& b) { return b.name == name; });
  }

  void node(NodeId id) {
    const OpInfo& info = op_info(graph_.node(id).op);
    if (info.kind == OpKind::Input || info.kind == OpKind::None) return;
    if (info.kind == OpKind::Weight) return; // declared at its first use
    std::string text = info.kind == OpKind::Constant
                           ? constant_text(words_, graph_.attr(id, 0), graph_.type(id))
                           : operator_text(id, info);
    bool once = uses_[id.index] <= 1 && text.size() <= kInline;
    bool scalar = info.kind == OpKind::Constant && graph_.type(id).rank() == 0;
    if (once || scalar)
      pending_[id.index] = std::move(text);
    else
      let(id, text);
  }

  void let(NodeId id, llvm::StringRef text) {
    name_value(id);
    text_ += "  let " + names_[id.index] + " = " + text.str() + "\n";
  }

  /// Input names aside, a name is what it is given, or the operator and a number: conv2d_1, relu_1.
  void name_value(NodeId id) {
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

  /// "" for none.
  std::string given_name(NodeId id) const {
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

  /// Without its first parts where it is long.
  static llvm::StringRef shortened(llvm::StringRef name) {
    while (name.size() > kLongestName) {
      llvm::StringRef rest = name.drop_front(std::min(name.find('_'), name.size() - 1) + 1);
      if (rest.empty() || llvm::isDigit(rest[0])) break;
      name = rest;
    }
    return name;
  }

  const GraphCall* call_of(NodeId id) const { return file_.calls.lookup(id.index); }
  llvm::ArrayRef<NodeId> operands_of(NodeId id) const {
    const GraphCall* call = call_of(id);
    return call ? llvm::ArrayRef<NodeId>(call->operands) : graph_.operands(id);
  }

  void count_uses(NodeId id) {
    for (NodeId operand : operands_of(id)) ++uses_[operand.index];
  }

  void declare_weight(NodeId id) {
    const std::string& path = graph_.attr(id, 0).text;
    const std::string& init = graph_.attr(id, 2).text;
    std::string& name = names_[id.index];
    std::string given = given_name(id);
    if (given == "weight") given = "w"; // which is a word of the language
    name = fresh(given.empty() ? identifier(path, "w") : given);
    text_ += "  param " + name + ": " + type_text(graph_.type(id)) + " = weight(" +
             path_text(id, path) + (init.empty() ? "" : ", init = " + init) + ")\n";
  }

  /// The expression of a weight's path.
  virtual std::string path_text(NodeId, llvm::StringRef path) const {
    return Value::of_string(path).text_form();
  }

  std::string operand_text(NodeId id) {
    OpKind op = graph_.node(id).op;
    if (op == OpKind::None) return "none";
    if (op == OpKind::Weight && names_[id.index].empty()) declare_weight(id);
    if (!names_[id.index].empty()) return names_[id.index];
    auto it = pending_.find(id.index);
    if (it == pending_.end()) return "none"; // cannot be: operands come first
    return it->second;
  }

  /// Whether it can be written with a sign: no optional operand or attribute in use, and a tensor
  /// on one side at least (numbers would be folded).
  bool is_infix(NodeId id) const {
    const Node& n = graph_.node(id);
    if (infix_sign(n.op).empty() || call_of(id)) return false;
    llvm::ArrayRef<NodeId> operands = graph_.operands(id);
    for (NodeId extra : operands.drop_front(2))
      if (graph_.node(extra).op != OpKind::None) return false;
    if (n.op == OpKind::Matmul && graph_.attr(id, 0).text != "none") return false;
    auto number = [&](NodeId x) { return graph_.node(x).op == OpKind::Constant; };
    return !number(operands[0]) || !number(operands[1]);
  }

  bool is_number(NodeId id) const {
    return graph_.node(id).op == OpKind::Constant && graph_.type(id).rank() == 0;
  }

  std::string infix_text(NodeId id) {
    OpKind op = graph_.node(id).op;
    auto side = [&](size_t i) {
      NodeId operand = graph_.operands(id)[i];
      if (is_number(operand)) // it takes the dtype of the other side
        return words_.text(graph_.attr(operand, 0), 0, graph_.type(operand).dtype);
      bool nested = names_[operand.index].empty() && is_infix(operand);
      int inner = strength(graph_.node(operand).op), outer = strength(op);
      std::string text = operand_text(operand);
      return nested && (inner < outer || (inner == outer && i == 1)) ? "(" + text + ")" : text;
    };
    std::string left = side(0), right = side(1);
    return left + " " + infix_sign(op).str() + " " + right;
  }

  /// Operands that hold whole calls are written out first where the line would get too long.
  void shorten(llvm::ArrayRef<NodeId> operands, size_t name) {
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

  std::string operator_text(NodeId id, const OpInfo& info) {
    if (const GraphCall* call = call_of(id)) return call_text(*call);
    if (std::string text = bracket_text(id); !text.empty()) return text;
    llvm::ArrayRef<NodeId> operands = graph_.operands(id);
    shorten(operands, info.name.size());
    if (is_infix(id)) return infix_text(id);
    if (info.kind == OpKind::Extern) return extern_text(id);
    if (info.kind == OpKind::Iota) return iota_text(id);
    // sqrt of a number is a number in the language; here it is an operator.
    bool folds = is_const_function(info.name) &&
                 llvm::all_of(operands, [&](NodeId x) { return is_number(x); });
    std::string text(info.name);
    text += info.variadic() ? "([" : "(";
    std::string separator;
    // Behind an absent operand those that are there go by name, and so does an optional literal,
    // which by its place would be the first attribute.
    bool skipped = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      bool absent = graph_.node(operands[i]).op == OpKind::None;
      bool literal_operand = graph_.node(operands[i]).op == OpKind::Constant;
      skipped |= !info.variadic() && (absent || (info.operands()[i].optional && literal_operand));
      if (absent && !info.variadic()) continue;
      // A list where an attribute may stand would be taken for that.
      skipped |= !info.variadic() && info.operands()[i].optional &&
                 llvm::StringRef(operand_text(operands[i])).startswith("[");
      if (skipped) separator += std::string(info.operands()[i].name) + " = ";
      bool literal = folds && graph_.type(operands[i]).dtype == DType::F32;
      bool mixed = graph_.node(operands[i]).op == OpKind::Constant && is_mixed(info, operands);
      text += separator;
      if (mixed)
        text += constant_text(words_, graph_.attr(operands[i], 0), graph_.type(operands[i]), true);
      else
        text += literal ? "full([], " + operand_text(operands[i]) + ")" : operand_text(operands[i]);
      separator = ", ";
    }
    if (info.variadic()) text += "]";
    return text + attributes(id, info) + ")";
  }

  /// `x[:, 2:4]` for a slice, `x[:, 2]` for one whose axis goes; "" for what is none.
  std::string bracket_text(NodeId id) {
    OpKind op = graph_.node(id).op;
    if (op == OpKind::Slice && is_bracket(id)) return bracket_text(id, range_text(id));
    if (op != OpKind::Reshape) return "";
    NodeId slice = graph_.operands(id)[0];
    bool index = graph_.node(slice).op == OpKind::Slice && pending_.count(slice.index) &&
                 is_bracket(slice) && drops_axis(id, slice);
    return index ? bracket_text(slice, std::to_string(graph_.attr(slice, 1).number)) : "";
  }

  /// Lists are indexed when a model is built, and what is whole is no slice.
  bool is_bracket(NodeId slice) const {
    NodeId of = graph_.operands(slice)[0];
    int64_t size = graph_.type(of)[axis_of(slice)];
    bool whole = graph_.attr(slice, 1).number == 0 && graph_.attr(slice, 2).number == size;
    return !whole && graph_.node(of).op != OpKind::Constant && !call_of(slice);
  }

  size_t axis_of(NodeId slice) const { return static_cast<size_t>(graph_.attr(slice, 0).number); }

  bool drops_axis(NodeId reshape, NodeId slice) const {
    Shape kept = graph_.type(slice).shape;
    if (kept[axis_of(slice)] != 1) return false;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis_of(slice)));
    return graph_.type(reshape).shape == kept;
  }

  /// `2:4`; the ends of an axis go without saying.
  std::string range_text(NodeId slice) const {
    int64_t size = graph_.type(graph_.operands(slice)[0])[axis_of(slice)];
    int64_t start = graph_.attr(slice, 1).number, stop = graph_.attr(slice, 2).number;
    return (start == 0 ? "" : std::to_string(start)) + ":" +
           (stop == size ? "" : std::to_string(stop));
  }

  std::string bracket_text(NodeId slice, const std::string& place) {
    NodeId of = graph_.operands(slice)[0];
    size_t axis = axis_of(slice);
    std::string text = operand_text(of), before;
    if (names_[of.index].empty() && is_infix(of)) text = "(" + text + ")";
    for (size_t i = 0; i < axis; ++i) before += ":, ";
    if (axis >= 2 && axis + 1 == static_cast<size_t>(graph_.type(of).rank())) before = "..., ";
    return text + "[" + before + place + "]";
  }

  std::string call_text(const GraphCall& call) {
    shorten(call.operands, call.function.size());
    std::string text = call.function + "(";
    for (size_t i = 0; i < call.operands.size(); ++i)
      text += (i ? ", " : "") + operand_text(call.operands[i]);
    return text + call.attributes + ")";
  }

  std::string extern_text(NodeId id) {
    std::string text = graph_.attr(id, 0).text + "(";
    llvm::StringRef separator = "";
    for (NodeId operand : graph_.operands(id)) {
      bool literal = graph_.node(operand).op == OpKind::Constant;
      text += separator;
      text += literal ? constant_text(words_, graph_.attr(operand, 0), graph_.type(operand), true)
                      : operand_text(operand);
      separator = ", ";
    }
    return text + ")";
  }

  std::string iota_text(NodeId id) const {
    TensorType type = graph_.type(id);
    int64_t axis = graph_.attr(id, 1).number;
    std::string text = "iota(" + Value::of_ints(type.shape).text_form();
    if (type.dtype != DType::F32) text += (", " + dtype_name(type.dtype)).str();
    return text + (axis == 0 ? ")" : ", axis = " + std::to_string(axis) + ")");
  }

  /// Whether the operands of a list differ in dtype: a literal among them has to say its own.
  bool is_mixed(const OpInfo& info, llvm::ArrayRef<NodeId> operands) const {
    return info.variadic() && llvm::any_of(operands, [&](NodeId x) {
             return graph_.type(x).dtype != graph_.type(operands[0]).dtype;
           });
  }

  std::string attributes(NodeId id, const OpInfo& info) const {
    std::string text;
    for (size_t slot = 0; slot < info.attrs().size(); ++slot) {
      const AttrInfo& attr = info.attrs()[slot];
      const Value& value = graph_.attr(id, slot);
      if (!attr.required && is_default(id, attr, value)) continue;
      if (info.kind == OpKind::Transpose && swaps_last_axes(value)) continue;
      bool pair =
          attr.kind == AttrKind::pair && value.ints.size() == 2 && value.ints[0] == value.ints[1];
      text += ", " + std::string(attr.name) + " = " +
              (pair                           ? std::to_string(value.ints[0])
               : value.is(Value::Kind::Float) ? words_.text(value.real)
                                              : value.text_form());
    }
    return text;
  }

  /// Which goes without saying (lang/check/resolve.cpp).
  static bool swaps_last_axes(const Value& perm) {
    size_t rank = perm.ints.size();
    for (size_t axis = 0; axis < rank; ++axis) {
      size_t from = axis + 2 < rank ? axis : rank - 1 - (axis + 2 - rank);
      if (perm.ints[axis] != static_cast<int64_t>(from)) return false;
    }
    return rank >= 2;
  }

  bool is_default(NodeId id, const AttrInfo& attr, const Value& value) const {
    Value plain = default_value(attr);
    if (attr.kind == AttrKind::axis && plain.number < 0 && !graph_.operands(id).empty())
      plain.number += graph_.type(graph_.operands(id)[0]).rank(); // the normal form
    return plain == value;
  }

  static constexpr size_t kLongestName = 40;
  static constexpr size_t kInline = 48; // longest text of a node that is written inside another

  File& file_;
  const Graph& graph_;
  const TextOptions& options_;
  std::string text_;
  std::string scope_; // what given names have at their head, which goes without saying here
  std::vector<uint32_t> uses_;
  std::vector<std::string> names_; // by node; empty where it has none (yet)
  llvm::DenseMap<uint32_t, std::string> pending_;
  llvm::StringSet<> taken_;
  llvm::StringMap<uint32_t> numbers_;
  NumberWords words_;

public:
  virtual ~Body() = default;
};

/// The numbers of the copies in the paths of a block's weights, as expressions over one variable.
class CopyNumbers {
public:
  explicit CopyNumbers(const Repeat& repeat) {
    std::map<int64_t, size_t> firsts; // of those that count up by one
    for (const RepeatedWeight& weight : repeat.weights)
      for (const RepeatedWeight::Part& part : weight.path) {
        if (part.numbers.empty()) continue;
        needed_ = true;
        if (step(part.numbers) == 1) ++firsts[part.numbers[0]];
      }
    size_t most = 0;
    for (auto [first, count] : firsts)
      if (count > most) most = count, first_ = first;
  }

  bool needed() const { return needed_; }
  int64_t first() const { return first_; }

  /// `"layers." + i + ".w"`
  std::string text(llvm::ArrayRef<RepeatedWeight::Part> path) const {
    std::string text = path[0].numbers.empty() ? "" : "\"\"";
    for (const RepeatedWeight::Part& part : path) {
      if (!text.empty()) text += " + ";
      text += part.numbers.empty() ? Value::of_string(part.text).text_form() : number(part.numbers);
    }
    return text;
  }

private:
  /// 0 where they do not go on by equal steps.
  static int64_t step(llvm::ArrayRef<int64_t> numbers) {
    int64_t by = numbers[1] - numbers[0];
    for (size_t k = 1; k < numbers.size(); ++k)
      if (numbers[k] - numbers[k - 1] != by) return 0;
    return by;
  }

  std::string number(llvm::ArrayRef<int64_t> numbers) const {
    int64_t by = step(numbers);
    if (by == 0) {
      std::string at = first_ == 0 ? "i" : "i - " + std::to_string(first_);
      return Value::of_ints(numbers).text_form() + "[" + at + "]";
    }
    int64_t rest = numbers[0] - by * first_;
    std::string text = by == 1 ? "i" : std::to_string(by) + " * i";
    if (rest > 0) text += " + " + std::to_string(rest);
    if (rest < 0) text += " - " + std::to_string(-rest);
    return text == "i" ? text : "(" + text + ")";
  }

  bool needed_ = false;
  int64_t first_ = 0;
};

/// The function that the copies of a block become.
class Block final : public Body {
public:
  Block(File& file, const Repeat& repeat) : Body(file), repeat_(repeat), numbers_of_(repeat) {}

  const CopyNumbers& numbers() const { return numbers_of_; }
  const std::string& name() const { return name_; }

  /// Also chooses the name.
  std::string write() {
    for (const auto& function : file_.functions) taken_.insert(function.getKey());
    find_scope();
    llvm::StringSet<> inside = taken_;
    for (const auto& name : file_.taken) taken_.insert(name.getKey());
    name_ = fresh(own_name());
    taken_ = std::move(inside);
    taken_.insert(name_);
    file_.functions.insert(name_);
    text_ += "fn " + name_ + "(";
    for (const RepeatedArgument& argument : repeat_.arguments) {
      std::string& name = names_[argument.of[repeat_.body].index];
      name = fresh(argument_name(argument));
      text_ += name + ": " + type_text(graph_.type(argument.of[repeat_.body])) + ", ";
    }
    if (numbers_of_.needed()) {
      taken_.insert("i");
      text_ += "i: int, ";
    }
    text_ += ")";
    if (repeat_.results.size() == 1) text_ += " -> " + type_text(graph_.type(result(0)));
    text_ += " {\n";
    statements();
    std::string values;
    for (size_t i = 0; i < repeat_.results.size(); ++i)
      values += (i ? ", " : "") + operand_text(result(i));
    text_ += (repeat_.results.size() == 1 ? "  " + values : "  (" + values + ")") + "\n}\n\n";
    return std::move(text_);
  }

private:
  NodeId result(size_t i) const { return repeat_.copies[repeat_.body][repeat_.results[i]]; }

  void statements() {
    std::set<uint32_t> nodes;
    for (NodeId id : repeat_.copies[repeat_.body]) {
      nodes.insert(id.index);
      count_uses(id);
      for (NodeId operand : operands_of(id))
        if (graph_.node(operand).op == OpKind::Constant) nodes.insert(operand.index);
    }
    for (size_t i = 0; i < repeat_.results.size(); ++i)
      if (repeat_.results.size() > 1) uses_[result(i).index] += 2; // by name
    for (uint32_t i : nodes) node({i});
  }

  std::string path_text(NodeId weight, llvm::StringRef path) const override {
    for (const RepeatedWeight& known : repeat_.weights)
      if (known.of[repeat_.body] == weight) return numbers_of_.text(known.path);
    return Body::path_text(weight, path);
  }

  /// What most given names of the copy begin with, up to a `_`.
  void find_scope() {
    if (!options_.names) return;
    std::map<llvm::StringRef, size_t> begins;
    size_t named = 0;
    auto take = [&](NodeId id) {
      auto found = options_.names->find(id.index);
      if (found == options_.names->end()) return;
      llvm::StringRef name = found->second;
      ++named;
      for (size_t at = name.find('_', 1); at != llvm::StringRef::npos; at = name.find('_', at + 1))
        ++begins[name.take_front(at + 1)];
    };
    for (NodeId id : repeat_.copies[repeat_.body]) take(id);
    for (const RepeatedWeight& weight : repeat_.weights) take(weight.of[repeat_.body]);
    for (bool numbered : {true, false}) { // `layers_0_` says more than `layers_0_attention_`
      for (auto [begin, count] : begins)
        if (4 * count > 3 * named && begin.size() > scope_.size() &&
            (!numbered || llvm::isDigit(begin[begin.size() - 2])))
          scope_ = begin.str();
      if (!scope_.empty()) return;
    }
  }

  /// The last words of the scope, without the number of the copy.
  std::string own_name() const {
    llvm::StringRef scope = llvm::StringRef(scope_).rtrim('_').rtrim("0123456789").rtrim('_');
    llvm::SmallVector<llvm::StringRef, 8> words;
    scope.split(words, '_', -1, /*KeepEmpty=*/false);
    std::string name;
    while (!words.empty() && (name.empty() || name.size() + words.back().size() < kLongestOwn)) {
      name = words.back().str() + (name.empty() ? "" : "_" + name);
      words.pop_back();
    }
    return name.empty() || llvm::isDigit(name[0]) ? "block" : identifier(name, "block");
  }

  /// Of what the blocks hand on to each other x; else what the model calls it, without numbers.
  std::string argument_name(const RepeatedArgument& argument) const {
    bool handed_on = argument.carried >= 0;
    if (handed_on) return "x";
    NodeId id = argument.of[repeat_.body];
    OpKind op = graph_.node(id).op;
    std::string name = given_name(id);
    if (op == OpKind::Input) name = identifier(graph_.attr(id, 0).text, "x");
    if (op == OpKind::Weight && name.empty()) name = identifier(graph_.attr(id, 0).text, "w");
    if (name.empty()) name = op_info(op).name;
    if (argument.same) return name;
    std::string plain;
    for (char c : name) // of several: without what tells them apart
      if (!llvm::isDigit(c) && !(c == '_' && llvm::StringRef(plain).endswith("_"))) plain += c;
    return identifier(llvm::StringRef(plain).rtrim('_'), "x");
  }

  static constexpr size_t kLongestOwn = 16;

  const Repeat& repeat_;
  CopyNumbers numbers_of_;
  std::string name_;
};

/// The whole file.
class Model final : public Body {
public:
  explicit Model(File& file) : Body(file), needed_(file.graph.reachable()) {}

  std::string write() {
    for (const GraphCall& call : options_.calls) {
      file_.calls[call.root.index] = &call;
      file_.functions.insert(call.function);
      for (NodeId inner : call.inner) needed_[inner.index] = false;
    }
    if (options_.functions) repeats_ = find_repeats(graph_, options_.calls);
    hide_copies();
    count_all_uses();
    head();
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (auto block = block_at_.find(i); block != block_at_.end()) write_calls(block->second);
      if (needed_[i] && !(graph_.node({i}).op == OpKind::Constant && uses_[i] == 0)) statement({i});
    }
    tail();
    return std::move(text_);
  }

  /// The graph under the names that its text has for inputs and outputs.
  Graph renamed() {
    declare_externs();
    name_inputs();
    Graph result(graph_.shared_symbols(), graph_.name());
    std::vector<NodeId> at(graph_.size());
    for (NodeId input : graph_.inputs())
      at[input.index] = result.input(names_[input.index], graph_.type(input));
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!needed_[i] || at[i].valid()) continue;
      llvm::SmallVector<ValueId, 6> attrs(graph_.attrs({i}).begin(), graph_.attrs({i}).end());
      llvm::SmallVector<NodeId, 6> operands;
      for (NodeId operand : graph_.operands({i})) operands.push_back(at[operand.index]);
      at[i] = result.add(graph_.node({i}).op, attrs, operands);
    }
    std::vector<std::string> names = output_names();
    for (size_t i = 0; i < names.size(); ++i)
      result.add_output(names[i], at[graph_.outputs()[i].node.index]);
    return result;
  }

private:
  /// How a block is called.
  struct CalledBlock {
    std::string name;
    bool numbered = false; // with the number of the copy as its last argument
    int64_t first = 0;
  };

  void hide_copies() {
    for (size_t i = 0; i < repeats_.size(); ++i) {
      block_at_[repeats_[i].at.index] = i;
      for (const std::vector<NodeId>& copy : repeats_[i].copies)
        for (NodeId id : copy) needed_[id.index] = false;
    }
  }

  void count_all_uses() {
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i]) count_uses({i});
    for (const GraphOutput& output : graph_.outputs()) uses_[output.node.index] += 2; // by name
    for (const Repeat& repeat : repeats_)
      for (const RepeatedArgument& argument : repeat.arguments) {
        bool by_name = repeat.is_loop && argument.carried < 0;
        if (repeat.is_loop)
          uses_[argument.of[0].index] += by_name ? 2 : 1;
        else
          for (NodeId read : argument.of) ++uses_[read.index];
      }
    for (const Repeat& repeat : repeats_)
      for (const RepeatedArgument& argument : repeat.arguments)
        if (repeat.is_loop && argument.carried >= 0 && uses_[argument.of[0].index] == 1)
          begins_.insert(argument.of[0].index);
  }

  /// What a loop alone goes on with is declared as its variable.
  void statement(NodeId id) {
    bool leaf = op_info(graph_.node(id).op).has(Trait::Leaf);
    if (leaf || !begins_.contains(id.index)) return node(id);
    std::string text = operator_text(id, op_info(graph_.node(id).op));
    names_[id.index] = fresh("x");
    variables_.insert(names_[id.index]);
    text_ += "  var " + names_[id.index] + " = " + text + "\n";
  }

  // --- blocks -----------------------------------------------------------------------------------

  void write_calls(size_t at) {
    const Repeat& repeat = repeats_[at];
    if (repeat.is_loop) return write_loop(repeat, blocks_[at]);
    for (size_t k = 0; k < repeat.copies.size(); ++k) {
      std::string call = call_text(repeat, blocks_[at], k);
      std::string targets;
      for (uint32_t place : repeat.results) {
        NodeId id = repeat.copies[k][place];
        name_value(id);
        targets += (targets.empty() ? "" : ", ") + names_[id.index];
      }
      text_ += "  let " + (repeat.results.size() == 1 ? targets : "(" + targets + ")") + " = " +
               call + "\n";
    }
  }

  std::string call_text(const Repeat& repeat, const CalledBlock& block, size_t k) {
    std::string text;
    for (const RepeatedArgument& argument : repeat.arguments)
      text += (text.empty() ? "" : ", ") + operand_text(argument.of[k]);
    if (block.numbered)
      text += (text.empty() ? "" : ", ") + std::to_string(block.first + static_cast<int64_t>(k));
    return block.name + "(" + text + ")";
  }

  void write_loop(const Repeat& repeat, const CalledBlock& block) {
    std::vector<std::string> variables(repeat.results.size());
    std::string text;
    for (const RepeatedArgument& argument : repeat.arguments) {
      NodeId id = argument.of[0];
      std::string name = operand_text(id);
      if (argument.carried >= 0) {
        bool goes_on = variables_.contains(name) && begins_.contains(id.index);
        if (!goes_on) {
          std::string begin = std::move(name);
          name = fresh("x");
          text_ += "  var " + name + " = " + begin + "\n";
        }
        variables[static_cast<size_t>(argument.carried)] = name;
      }
      text += (text.empty() ? "" : ", ") + name;
    }
    if (block.numbered) text += ", i";
    std::string targets;
    for (size_t i = 0; i < variables.size(); ++i) {
      targets += (i ? ", " : "") + variables[i];
      variables_.insert(variables[i]);
      names_[repeat.copies.back()[repeat.results[i]].index] = variables[i];
    }
    if (variables.size() > 1) targets = "(" + targets + ")";
    int64_t end = block.first + static_cast<int64_t>(repeat.copies.size());
    text_ += "  for " + std::string(block.numbered ? "i" : "_") + " in " +
             std::to_string(block.first) + ".." + std::to_string(end) + " { " + targets + " = " +
             block.name + "(" + text + ") }\n";
  }

  void head() {
    use_modules();
    declare_externs();
    std::string name = model_name();
    name_inputs();
    for (const auto& taken : taken_) file_.taken.insert(taken.getKey());
    file_.taken.insert(name);
    for (const Repeat& repeat : repeats_) write_block(repeat);
    llvm::SmallVector<llvm::StringRef, 8> lines;
    llvm::StringRef(options_.doc).split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (!options_.doc.empty()) text_ += ("## " + line).str() + "\n";
    text_ += "model " + name + "(";
    for (NodeId input : graph_.inputs())
      text_ += names_[input.index] + ": " + type_text(graph_.type(input)) + ", ";
    for (const auto& function : file_.functions) taken_.insert(function.getKey());
    for (const CalledBlock& block : blocks_)
      if (block.numbered) taken_.insert("i");
    if (taken_.contains("inf")) words_.inf = "(1e308 * 1e308)";
    if (taken_.contains("nan")) words_.nan = "(1e308 * 10.0 - 1e308 * 10.0)";
    text_ += ") -> ";
    results();
    text_ += " {\n";
  }

  /// Two that are equal but for their names are one.
  void write_block(const Repeat& repeat) {
    Block block(file_, repeat);
    std::string text = block.write(), name = block.name();
    std::string rest = text.substr(text.find('('));
    auto [known, fresh] = functions_.try_emplace(std::move(rest), name);
    if (fresh)
      text_ += text;
    else
      file_.functions.erase(name);
    blocks_.push_back({known->second, block.numbers().needed(), block.numbers().first()});
  }

  /// Before all else gets a name.
  void name_inputs() {
    taken_.clear(); // models and values do not meet
    for (const auto& name : externs_) taken_.insert(name.getKey());
    for (NodeId input : graph_.inputs())
      names_[input.index] = input_name(graph_.attr(input, 0).text);
  }

  std::string model_name() {
    std::string name = identifier(graph_.name(), "main");
    bool word = is_constant_name(name); // which no model meets
    return word && !find_op(name) ? name : fresh(name);
  }

  /// Inputs are what a file of tensors is matched with: whatever name the language admits stays,
  /// also that of an operator, which values never meet. `_` may stand several times.
  std::string input_name(llvm::StringRef name) {
    bool stays = is_identifier(name) && !reserved(name) && !taken_.contains(name);
    if (!stays) return fresh(identifier(name, "x"));
    if (name != "_") taken_.insert(name);
    return name.str();
  }

  void use_modules() {
    std::map<llvm::StringRef, std::set<llvm::StringRef>> used;
    for (const GraphCall& call : options_.calls) used[call.module].insert(call.function);
    for (const auto& [module, functions] : used) {
      text_ += "use " + module.str() + ": " + llvm::join(functions, ", ") + "\n";
    }
    if (!used.empty()) text_ += "\n";
  }

  /// Each once, in the order of their use.
  void declare_externs() {
    llvm::StringSet<> known;
    if (options_.before)
      for_externs(*options_.before, options_.before->reachable(),
                  [&](const std::string& name, const std::string&) { known.insert(name); });
    for_externs(graph_, needed_, [&](const std::string& name, const std::string& signature) {
      if (!externs_.insert(name).second) return;
      taken_.insert(name);
      if (!known.contains(name))
        text_ += ExternSignature::parse(signature)->declaration(name) + "\n\n";
    });
  }

  template <class Visit>
  static void for_externs(const Graph& graph, const std::vector<bool>& needed, Visit visit) {
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed[i] && graph.node({i}).op == OpKind::Extern)
        visit(graph.attr({i}, 0).text, graph.attr({i}, 1).text);
  }

  std::vector<std::string> output_names() const {
    llvm::StringSet<> seen;
    std::vector<std::string> names;
    for (const GraphOutput& output : graph_.outputs()) {
      std::string& name = names.emplace_back(identifier(output.name, "output"));
      while (reserved(name) || !seen.insert(name).second) name += "_";
    }
    return names;
  }

  void results() {
    llvm::ArrayRef<GraphOutput> outputs = graph_.outputs();
    if (outputs.size() == 1 && outputs[0].name == "output") {
      text_ += type_text(graph_.type(outputs[0].node));
      return;
    }
    std::vector<std::string> names = output_names();
    text_ += "(";
    for (size_t i = 0; i < outputs.size(); ++i)
      text_ += names[i] + ": " + type_text(graph_.type(outputs[i].node)) + ", ";
    text_ += ")";
  }

  void tail() {
    std::string values;
    for (const GraphOutput& output : graph_.outputs())
      values += (values.empty() ? "" : ", ") + operand_text(output.node); // may declare a weight
    text_ += graph_.outputs().size() == 1 ? "  " + values + "\n}\n" : "  (" + values + ")\n}\n";
  }

  std::vector<bool> needed_; // to be written here
  std::vector<Repeat> repeats_;
  std::vector<CalledBlock> blocks_;              // of repeats_
  std::map<std::string, std::string> functions_; // names by what follows them
  llvm::DenseMap<uint32_t, size_t> block_at_;    // by the first operator
  llvm::DenseSet<uint32_t> begins_;              // of loops, and read by nothing else
  llvm::StringSet<> variables_;
  llvm::StringSet<> externs_; // declared
};

} // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  File file{graph, options};
  std::string text = Model(file).write();
  SourceManager sources;
  DiagnosticSink sink;
  Ast ast = parse(sources, sources.add(graph.name(), text), sink);
  assert(!sink.failed() && "what is written can be read");
  return sink.failed() ? text : format(ast, sources);
}

Graph with_text_names(const Graph& graph) {
  TextOptions options;
  File file{graph, options};
  return Model(file).renamed();
}

} // namespace tg
