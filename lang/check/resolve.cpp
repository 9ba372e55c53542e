// See resolve.h.
#include "lang/check/resolve.h"

#include "lang/check/consteval.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>

#include <cmath>
#include <limits>

namespace tg {

namespace {

/// Returns the kind of compile-time parameter with that name in the language.
ParamKind::Base kind_of_word(llvm::StringRef word) {
  using Base = ParamKind::Base;
  return llvm::StringSwitch<Base>(word)
      .Case("int", Base::Int)
      .Case("float", Base::Float)
      .Case("bool", Base::Bool)
      .Case("Pad", Base::Pad)
      .Case("Act", Base::Act)
      .Case("Pair", Base::Pair)
      .Case("DType", Base::DType)
      .Default(Base::Unknown);
}

void builtin_slots(const BuiltinInfo& builtin, Signature& out) {
  out.variadic = builtin.params.empty();
  llvm::SmallVector<llvm::StringRef, 4> words;
  llvm::StringRef(builtin.params).split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    bool required = !word.consume_back("?");
    out.slots.push_back({word, required, word == "x"});
  }
}

void op_slots(const OpInfo& op, Signature& out) {
  out.variadic = op.variadic();
  for (const OperandInfo& operand : op.operands())
    out.slots.push_back({operand.name, !operand.optional, true});
  for (const AttrInfo& attr : op.attrs())
    // `transpose(x)` without a permutation swaps the last two axes.
    out.slots.push_back({attr.name, attr.required && op.kind != OpKind::Transpose, false});
}

} // namespace

Callee resolve_callee(const Module& module, llvm::StringRef name) {
  Callee callee;
  if (auto it = module.names.find(name); it != module.names.end()) {
    callee.kind = Callee::Kind::Fn;
    callee.fn = it->second;
    return callee;
  }
  std::optional<OpKind> op = find_op(name);
  for (const BuiltinInfo& builtin : all_builtins())
    if (builtin.name == name && !(op && builtin.kind == Builtin::Constant)) {
      callee.kind = Callee::Kind::Builtin;
      callee.builtin = &builtin;
      return callee;
    }
  if (op && !(op_info(*op).has(Trait::Leaf))) {
    callee.kind = Callee::Kind::Op;
    callee.op = *op;
  }
  return callee;
}

std::vector<llvm::StringRef> callable_names(const Module& module) {
  std::vector<llvm::StringRef> names;
  for (const auto& entry : module.names) names.push_back(entry.getKey());
  llvm::sort(names); // the map's own order is that of hashes
  for (const BuiltinInfo& builtin : all_builtins()) names.push_back(builtin.name);
  for (const OpInfo& op : all_ops())
    if (!op.has(Trait::Leaf) && op.kind != OpKind::Extern) names.push_back(op.name);
  return names;
}

int Signature::find(llvm::StringRef name) const {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name == name) return static_cast<int>(i);
  return -1;
}

Signature signature(const Program& program, const Callee& callee) {
  Signature out;
  switch (callee.kind) {
  case Callee::Kind::Unknown: break;
  case Callee::Kind::Builtin: builtin_slots(*callee.builtin, out); break;
  case Callee::Kind::Op: op_slots(op_info(callee.op), out); break;
  case Callee::Kind::Fn: {
    const Ast& ast = program.module(callee.fn).ast;
    for (const ast::Param& param : ast[program.decl(callee.fn).params])
      out.slots.push_back({param.name.text, !param.default_value.valid(), false});
    break;
  }
  }
  return out;
}

llvm::SmallVector<const ast::Arg*, 8> match_arguments(const Signature& signature, const Ast& ast,
                                                      ast::List<ast::Arg> args) {
  llvm::SmallVector<const ast::Arg*, 8> filled(signature.slots.size(), nullptr);
  size_t position = 0;
  for (const ast::Arg& arg : ast[args]) {
    int slot = -1;
    if (arg.kind == ast::ArgKind::Named)
      slot = signature.find(arg.name.text);
    else if (arg.kind == ast::ArgKind::Positional && position < filled.size())
      slot = static_cast<int>(position++);
    if (slot >= 0 && !filled[slot]) filled[slot] = &arg;
  }
  return filled;
}

std::optional<Value> constant_of_name(llvm::StringRef name) {
  if (name == "inf") return Value::of_float(std::numeric_limits<double>::infinity());
  if (name == "nan") return Value::of_float(std::numeric_limits<double>::quiet_NaN());
  for (AttrKind kind : {AttrKind::act, AttrKind::pad})
    if (llvm::is_contained(enum_members(kind), name)) return Value::of_enum(name);
  if (parse_dtype(name)) return Value::of_enum(name);
  return std::nullopt;
}

bool is_constant_name(llvm::StringRef name) { return constant_of_name(name).has_value(); }

/// Returns the name inside `list[list[int]]`, which parses as an index, and the number of lists;
/// "" for any other expression.
static llvm::StringRef list_item(const Ast& ast, ast::ExprId id, uint8_t& lists) {
  for (lists = 1;; ++lists) {
    const ast::Expr& e = ast[id];
    if (e.kind == ast::ExprKind::Name) return e.text;
    bool list = e.kind == ast::ExprKind::Index && ast[e.a].text == "list" && e.slices.size() == 1;
    if (!list || ast[e.slices][0].range || ast[e.slices][0].ellipsis || lists == 8) return "";
    id = ast[e.slices][0].begin;
  }
}

ParamKind param_kind(const Ast& ast, const ast::Type& type) {
  using Base = ParamKind::Base;
  ParamKind kind;
  if (type.kind == ast::TypeKind::Tuple) kind.base = Base::Tuple;
  if (type.kind != ast::TypeKind::Named) return kind;
  llvm::StringRef name = type.name.text;
  if (name == "list" && type.dims.size() == 1) {
    name = list_item(ast, ast[type.dims][0], kind.lists);
  } else if (name == "ints" || name == "floats") {
    kind.lists = 1;
    name = name.drop_back();
  } else if (type.bracketed) {
    if (parse_dtype(name) || is_dtype_variable(name)) kind.base = Base::Tensor;
    return kind;
  }
  kind.base = kind_of_word(name);
  if (parse_dtype(name) && kind.base == Base::Unknown && kind.lists == 0) kind.base = Base::Tensor;
  return kind;
}

std::string kind_name(const ParamKind& kind) {
  static constexpr llvm::StringLiteral kNames[] = {"tensor", "tuple", "int",  "float", "bool",
                                                   "Pad",    "Act",   "Pair", "DType", "unknown"};
  llvm::StringRef base = kNames[static_cast<size_t>(kind.base)];
  std::string text;
  for (uint8_t i = 0; i < kind.lists; ++i) text += "list[";
  return text + base.str() + std::string(kind.lists, ']');
}

bool is_dtype_variable(llvm::StringRef name) {
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' &&
         kind_of_word(name) == ParamKind::Base::Unknown && idiom_of_type(name).empty();
}

std::vector<BoundName> bound_names(const Ast& ast, const ast::Decl& fn) {
  using Kind = BoundName::Kind;
  std::vector<BoundName> names;
  llvm::StringSet<> seen;
  auto add = [&](llvm::StringRef text, Span span, Kind kind) {
    if (seen.insert(text).second) names.push_back({{text, span}, kind});
  };
  llvm::SmallVector<ast::TypeRef, 8> open;  // parts of tuples in order: the last is the next
  auto binds = [&](const ast::Type& type) { // a dtype error is reported once
    ParamKind kind = param_kind(ast, type);
    return kind.run_time() || (kind.base == ParamKind::Base::Unknown && type.bracketed);
  };
  for (const ast::Param& param : llvm::reverse(ast[fn.params]))
    if (param.type && binds(ast[param.type])) open.push_back(param.type);
  while (!open.empty()) {
    const ast::Type& type = ast[open.pop_back_val()];
    for (ast::TypeRef part : llvm::reverse(ast[type.parts])) open.push_back(part);
    if (type.kind != ast::TypeKind::Named) continue;
    if (!parse_dtype(type.name.text) && is_dtype_variable(type.name.text))
      add(type.name.text, type.name.span, Kind::DType);
    for (ast::ExprId dim : ast[type.dims]) {
      const ast::Expr& e = ast[dim];
      if (e.kind == ast::ExprKind::Name && e.text != "_") add(e.text, e.span, Kind::Dimension);
      if (e.kind == ast::ExprKind::Spread) add(e.text, e.span, Kind::Shape);
    }
  }
  return names;
}

} // namespace tg
