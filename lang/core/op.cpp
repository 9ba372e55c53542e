// Converts ops.def to OpInfo rows, and formulas to lists, at compile time:
// a malformed row does not compile.
#include "lang/core/op.h"

#include "lang/core/formulas.h"

#include <llvm/ADT/StringSwitch.h>

#include <charconv>
#include <utility>

namespace tg {

namespace {

constexpr std::string_view next_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  size_t end = 0;
  while (end < text.size() && text[end] != ' ') ++end;
  std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

struct KindRow {
  std::string_view name;
  AttrKind kind;
};
constexpr KindRow kAttrKinds[] = {
    {"int", AttrKind::integer}, {"bool", AttrKind::boolean},  {"float", AttrKind::real},
    {"ints", AttrKind::ints},   {"floats", AttrKind::floats}, {"string", AttrKind::string},
    {"type", AttrKind::type},   {"act", AttrKind::act},       {"pad", AttrKind::pad},
    {"pair", AttrKind::pair},   {"axis", AttrKind::axis},     {"axes", AttrKind::axes},
    {"dtype", AttrKind::dtype},
};

/// Not constexpr: a call makes the compilation of ops.def fail, with `what` in the message.
void malformed_ops_def(const char* what);
void malformed_ops_def(const char*) {}

consteval AttrKind attr_kind(std::string_view name) {
  for (const KindRow& row : kAttrKinds)
    if (row.name == name) return row.kind;
  malformed_ops_def("unknown attribute kind");
  return {};
}

consteval AttrInfo attr_info(std::string_view word) {
  AttrInfo attr;
  size_t colon = word.find(':');
  size_t equals = word.find('=');
  if (colon == std::string_view::npos)
    malformed_ops_def("an attribute is name:kind or name:kind=default");
  attr.name = word.substr(0, colon);
  attr.required = equals == std::string_view::npos;
  attr.kind = attr_kind(word.substr(colon + 1, attr.required ? word.npos : equals - colon - 1));
  if (!attr.required) attr.default_text = word.substr(equals + 1);
  return attr;
}

consteval OperandKind operand_kind(std::string_view name) {
  if (name == "bool") return OperandKind::condition;
  if (name == "index") return OperandKind::index;
  if (name != "any") malformed_ops_def("an operand is x, x:bool, x:index or x:any");
  return OperandKind::any;
}

consteval OperandInfo operand_info(std::string_view word) {
  OperandInfo operand;
  operand.overwritable = word.back() == '!';
  if (operand.overwritable) word.remove_suffix(1);
  size_t colon = word.find(':');
  if (colon != word.npos) operand.kind = operand_kind(word.substr(colon + 1));
  word = word.substr(0, colon);
  operand.optional = word.back() == '?';
  operand.variadic = word.back() == '*';
  if (operand.optional || operand.variadic) word.remove_suffix(1);
  operand.name = word;
  return operand;
}

consteval OpInfo row(OpKind kind, std::string_view name, std::string_view operands,
                     std::string_view attrs, ShapeRule shape, uint32_t traits, Work work,
                     std::string_view doc) {
  OpInfo info{
      .kind = kind, .name = name, .shape = shape, .traits = traits, .work = work, .doc = doc};
  for (std::string_view word = next_word(operands); !word.empty(); word = next_word(operands)) {
    info.operand_rows[info.operand_count++] = operand_info(word);
  }
  for (std::string_view word = next_word(attrs); !word.empty(); word = next_word(attrs))
    info.attr_rows[info.attr_count++] = attr_info(word);
  constexpr uint32_t kSays = Trait::Rational | Trait::Opaque;
  if ((traits & (kSays | Trait::Leaf | Trait::Sugar | Trait::Fused)) == 0)
    malformed_ops_def("say whether the operator is Trait::Rational, Trait::Opaque or both");
  return info;
}

constexpr OpInfo kRows[] = {
#define TG_OP(kind, name, operands, attrs, shape, traits, work, degree, gradient, doc)             \
  row(OpKind::kind, name, operands, attrs, ShapeRule::shape, traits, Work::work, doc),
#include "lang/core/ops.def"
};
static_assert(std::size(kRows) == kOpCount);

/// The scalar that records the operations of a formula. A literal belongs to no formula until an
/// operator uses it.
struct Recorder {
  struct Value {
    Formula* formula = nullptr;
    uint8_t step = 0;
    double literal = 0;
  };
  static constexpr Value literal(double x) { return {nullptr, 0, x}; }
  static constexpr Value apply(OpKind op, const Value* args) {
    FormulaStep step{FormulaStep::Kind::Apply, op, arity(op), {}, 0};
    Formula* formula = nullptr;
    for (uint8_t i = 0; i < step.arity; ++i)
      if (args[i].formula) formula = args[i].formula;
    for (uint8_t i = 0; i < step.arity; ++i)
      step.args[i] = args[i].formula
                         ? args[i].step
                         : formula->add({FormulaStep::Kind::Literal, {}, 0, {}, args[i].literal});
    return {formula, formula->add(step), 0};
  }
  /// The number of operands and attributes.
  static constexpr uint8_t arity(OpKind op) {
    const OpInfo& info = kRows[static_cast<size_t>(op)];
    return static_cast<uint8_t>(info.operand_count + info.attr_count);
  }
};

template <OpKind op> consteval Formula recorded() {
  Formula formula;
  if constexpr (formulas::kGiven<op>) {
    Recorder::Value args[std::tuple_size_v<decltype(FormulaStep::args)>];
    for (uint8_t i = 0; i < Recorder::arity(op); ++i)
      args[i] = {&formula, formula.add({FormulaStep::Kind::Argument, {}, 0, {}, double(i)}), 0};
    Recorder::Value result = formulas::value<op, Recorder>(args);
    if (result.step + 1u != formula.size())
      malformed_ops_def("a formula ends with an operator that nothing else in it takes");
  }
  return formula;
}

constexpr Formula kFormulas[] = {
#define TG_OP(kind, ...) Formula(),
#define TG_POINTWISE(kind, ...) recorded<OpKind::kind>(),
#include "lang/core/ops.def"
};

/// Returns the flops per element; those of the formula's steps if the row says so.
consteval double flops_of(const OpInfo& info) {
  if (info.work == Work::elements) return 1;
  if (info.work == Work::transcendental) return kTranscendentalFlops;
  double flops = 0;
  if (info.work == Work::formula)
    for (size_t i = 0; i < kFormulas[static_cast<size_t>(info.kind)].size(); ++i) {
      const FormulaStep& step = kFormulas[static_cast<size_t>(info.kind)][i];
      if (step.kind == FormulaStep::Kind::Apply)
        flops += flops_of(kRows[static_cast<size_t>(step.op)]);
    }
  return flops;
}

consteval std::array<OpInfo, kOpCount> with_flops() {
  std::array<OpInfo, kOpCount> ops;
  for (size_t i = 0; i < kOpCount; ++i) {
    ops[i] = kRows[i];
    ops[i].flops = flops_of(kRows[i]);
    if (ops[i].work != Work::formula) continue;
    if (ops[i].flops == 0) malformed_ops_def("work is `formula`, and there is none");
    ops[i].work = ops[i].flops < kTranscendentalFlops ? Work::elements : Work::transcendental;
  }
  return ops;
}

constexpr std::array<OpInfo, kOpCount> kOps = with_flops();

constexpr llvm::StringLiteral kActNames[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};

} // namespace

bool dtype_fits(const OpInfo& op, DType dtype) {
  if (op.has(Trait::AnyType)) return true;
  if (op.has(Trait::Floating)) return is_float(dtype);
  if (op.has(Trait::Logical)) return dtype == DType::Bool;
  return dtype != DType::Bool;
}

const OpInfo& op_info(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

llvm::ArrayRef<OpInfo> all_ops() { return kOps; }

const Formula* formula_of(OpKind op) {
  const Formula& formula = kFormulas[static_cast<size_t>(op)];
  return formula.given() ? &formula : nullptr;
}

std::optional<OpKind> find_op(llvm::StringRef name) {
  for (const OpInfo& info : kOps)
    if (llvm::StringRef(info.name) == name) return info.kind;
  return std::nullopt;
}

int OpInfo::attr_slot(llvm::StringRef wanted) const {
  for (size_t i = 0; i < attr_count; ++i)
    if (llvm::StringRef(attr_rows[i].name) == wanted) return static_cast<int>(i);
  return -1;
}

int OpInfo::index_operand() const {
  for (size_t i = 0; i < operand_count; ++i)
    if (operand_rows[i].kind == OperandKind::index) return static_cast<int>(i);
  return -1;
}

int OpInfo::operand_index(llvm::StringRef wanted) const {
  for (size_t i = 0; i < operand_count; ++i)
    if (llvm::StringRef(operand_rows[i].name) == wanted) return static_cast<int>(i);
  return -1;
}

std::optional<Act> parse_act(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(kActNames); ++i)
    if (kActNames[i] == name) return static_cast<Act>(i);
  return std::nullopt;
}

llvm::StringRef act_name(Act act) { return kActNames[static_cast<size_t>(act)]; }

std::optional<OpKind> act_op(Act act) {
  switch (act) {
  case Act::None: return std::nullopt;
  case Act::Relu: return OpKind::Relu;
  case Act::Tanh: return OpKind::Tanh;
  case Act::Sigmoid: return OpKind::Sigmoid;
  case Act::Gelu: return OpKind::Gelu;
  case Act::Relu6: return OpKind::Relu6;
  }
  return std::nullopt;
}

std::optional<ScatterReduce> parse_scatter_reduce(llvm::StringRef name) {
  constexpr llvm::StringLiteral kNames[] = {"none", "add", "mul", "max", "min"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<ScatterReduce>(i);
  return std::nullopt;
}

std::optional<OpKind> reduce_op(ScatterReduce reduce) {
  switch (reduce) {
  case ScatterReduce::None: break;
  case ScatterReduce::Add: return OpKind::Add;
  case ScatterReduce::Mul: return OpKind::Mul;
  case ScatterReduce::Max: return OpKind::Maximum;
  case ScatterReduce::Min: return OpKind::Minimum;
  }
  return std::nullopt;
}

llvm::ArrayRef<llvm::StringRef> enum_members(AttrKind kind) {
  static constexpr llvm::StringRef kActs[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};
  static constexpr llvm::StringRef kDTypes[] = {"f32", "f64", "f16", "bf16", "i32", "i64", "bool"};
  static constexpr llvm::StringRef kPads[] = {"same", "valid"};
  if (kind == AttrKind::act) return kActs;
  if (kind == AttrKind::pad) return kPads;
  if (kind == AttrKind::dtype) return kDTypes;
  return {};
}

Shape last_axes_swapped(int64_t rank) {
  Shape perm;
  for (int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

Value default_value(const AttrInfo& attr) {
  llvm::StringRef text = attr.default_text;
  int64_t number = 0;
  switch (attr.kind) {
  case AttrKind::integer:
  case AttrKind::axis: (void)text.getAsInteger(10, number); return Value::of_int(number);
  case AttrKind::boolean: return Value::of_bool(text == "true");
  case AttrKind::real: {
    double x = 0;
    (void)text.getAsDouble(x);
    return Value::of_float(x);
  }
  case AttrKind::pair: (void)text.getAsInteger(10, number); return Value::of_ints({number, number});
  case AttrKind::act:
  case AttrKind::dtype:
  case AttrKind::pad: return Value::of_enum(text);
  case AttrKind::string: return Value::of_string(text.trim('"'));
  case AttrKind::ints: {
    llvm::SmallVector<int64_t, 6> numbers;
    for (text = text.trim("[]"); !text.empty(); text.consume_front(",")) {
      (void)text.consumeInteger(10, number);
      numbers.push_back(number);
    }
    return Value::of_ints(numbers);
  }
  case AttrKind::floats: return Value::of_floats({}); // no other default is needed
  case AttrKind::type:
  case AttrKind::axes: break; // ops.def gives these no defaults
  }
  return Value::of_int(0);
}

} // namespace tg
