// See to_text.h. One pass over the nodes in graph order, which is a legal order of statements. The
// text of a node that is used once waits in `pending_` until its user takes it in or, where that
// would be too long, is written out as a `let` just before. The formatter then lays out the lines.
#include "compiler/ir/to_text.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"
#include "lang/core/extern_signature.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>

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

class Writer {
public:
  Writer(const Graph& graph, const TextOptions& options) : graph_(graph), options_(options) {}

  std::string write() {
    count_uses();
    head();
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i]) node({i});
    tail();
    return std::move(text_);
  }

private:
  void count_uses() {
    needed_ = graph_.reachable();
    uses_.resize(graph_.size());
    names_.resize(graph_.size());
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i])
        for (NodeId operand : graph_.operands({i})) ++uses_[operand.index];
    for (const GraphOutput& output : graph_.outputs()) uses_[output.node.index] += 2; // by name
  }

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

  void head() {
    declare_externs();
    llvm::SmallVector<llvm::StringRef, 8> lines;
    llvm::StringRef(options_.doc).split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (!options_.doc.empty()) text_ += ("## " + line).str() + "\n";
    text_ += "model " + model_name() + "(";
    taken_.clear(); // models and values do not meet
    for (const auto& name : externs_) taken_.insert(name.getKey());
    for (NodeId input : graph_.inputs()) {
      std::string& name = names_[input.index];
      name = input_name(graph_.attr(input, 0).text);
      text_ += name + ": " + type_text(graph_.type(input)) + ", ";
    }
    if (taken_.contains("inf")) words_.inf = "(1e308 * 1e308)";
    if (taken_.contains("nan")) words_.nan = "(1e308 * 10.0 - 1e308 * 10.0)";
    text_ += ") -> ";
    results();
    text_ += " {\n";
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

  void results() {
    llvm::ArrayRef<GraphOutput> outputs = graph_.outputs();
    if (outputs.size() == 1 && outputs[0].name == "output") {
      text_ += type_text(graph_.type(outputs[0].node));
      return;
    }
    llvm::StringSet<> seen;
    text_ += "(";
    for (const GraphOutput& output : outputs) {
      std::string name = identifier(output.name, "output");
      while (reserved(name) || !seen.insert(name).second) name += "_";
      text_ += name + ": " + type_text(graph_.type(output.node)) + ", ";
    }
    text_ += ")";
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
    // Input names aside, a name is the operator and a number: conv2d_1, relu_1.
    std::string op(op_info(graph_.node(id).op).name);
    if (graph_.node(id).op == OpKind::Extern) op = graph_.attr(id, 0).text;
    std::string& name = names_[id.index];
    if (std::string given = given_name(id); !given.empty()) {
      name = fresh(std::move(given));
    } else {
      do name = op + "_" + std::to_string(++numbers_[op]);
      while (!free(name));
      taken_.insert(name);
    }
    text_ += "  let " + name + " = " + text.str() + "\n";
  }

  /// "" for none.
  std::string given_name(NodeId id) const {
    if (!options_.names) return "";
    auto found = options_.names->find(id.index);
    return found == options_.names->end() ? "" : identifier(found->second, "");
  }

  void declare_weight(NodeId id) {
    const std::string& path = graph_.attr(id, 0).text;
    const std::string& init = graph_.attr(id, 2).text;
    std::string& name = names_[id.index];
    std::string given = given_name(id);
    name = fresh(given.empty() ? identifier(path, "w") : given);
    text_ += "  param " + name + ": " + type_text(graph_.type(id)) + " = weight(" +
             Value::of_string(path).text_form() + (init.empty() ? "" : ", init = " + init) + ")\n";
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
    if (infix_sign(n.op).empty()) return false;
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
  void shorten(llvm::ArrayRef<NodeId> operands, const OpInfo& info) {
    size_t length = info.name.size() + 2;
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
    llvm::ArrayRef<NodeId> operands = graph_.operands(id);
    shorten(operands, info);
    if (is_infix(id)) return infix_text(id);
    if (info.kind == OpKind::Extern) return extern_text(id);
    if (info.kind == OpKind::Iota) return iota_text(id);
    // sqrt of a number is a number in the language; here it is an operator.
    bool folds = is_const_function(info.name) &&
                 llvm::all_of(operands, [&](NodeId x) { return is_number(x); });
    std::string text(info.name);
    text += info.variadic() ? "([" : "(";
    std::string separator;
    bool skipped = false; // an absent optional operand: those behind it go by name
    for (size_t i = 0; i < operands.size(); ++i) {
      bool absent = graph_.node(operands[i]).op == OpKind::None;
      skipped |= absent && !info.variadic();
      if (absent && !info.variadic()) continue;
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
      bool pair =
          attr.kind == AttrKind::pair && value.ints.size() == 2 && value.ints[0] == value.ints[1];
      text += ", " + std::string(attr.name) + " = " +
              (pair                           ? std::to_string(value.ints[0])
               : value.is(Value::Kind::Float) ? words_.text(value.real)
                                              : value.text_form());
    }
    return text;
  }

  bool is_default(NodeId id, const AttrInfo& attr, const Value& value) const {
    Value plain = default_value(attr);
    if (attr.kind == AttrKind::axis && plain.number < 0 && !graph_.operands(id).empty())
      plain.number += graph_.type(graph_.operands(id)[0]).rank(); // the normal form
    return plain == value;
  }

  void tail() {
    std::string values;
    for (const GraphOutput& output : graph_.outputs())
      values += (values.empty() ? "" : ", ") + operand_text(output.node); // may declare a weight
    text_ += graph_.outputs().size() == 1 ? "  " + values + "\n}\n" : "  (" + values + ")\n}\n";
  }

  static constexpr size_t kInline = 48; // longest text of a node that is written inside another

  const Graph& graph_;
  const TextOptions& options_;
  std::string text_;
  std::vector<bool> needed_;
  std::vector<uint32_t> uses_;
  std::vector<std::string> names_; // by node; empty where it has none (yet)
  llvm::DenseMap<uint32_t, std::string> pending_;
  llvm::StringSet<> taken_;
  llvm::StringMap<uint32_t> numbers_;
  llvm::StringSet<> externs_; // declared
  NumberWords words_;
};

} // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  std::string text = Writer(graph, options).write();
  SourceManager sources;
  DiagnosticSink sink;
  Ast ast = parse(sources, sources.add(graph.name(), text), sink);
  assert(!sink.failed() && "what is written can be read");
  return sink.failed() ? text : format(ast, sources);
}

} // namespace tg
