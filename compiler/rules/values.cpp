// Expressions over values: conditions, computed attributes, what a list or a `let` names.
#include "compiler/rules/compiler.h"
#include "compiler/rules/eval.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/StringExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

std::optional<Kind> binary_kind(ast::Op op) {
  switch (op) {
  case ast::Op::Add: return Kind::Add;
  case ast::Op::Sub: return Kind::Sub;
  case ast::Op::Mul: return Kind::Mul;
  case ast::Op::Div: return Kind::Div;
  case ast::Op::FloorDiv: return Kind::FloorDiv;
  case ast::Op::Mod: return Kind::Mod;
  case ast::Op::Eq: return Kind::Eq;
  case ast::Op::Ne: return Kind::Ne;
  case ast::Op::Lt: return Kind::Lt;
  case ast::Op::Le: return Kind::Le;
  case ast::Op::Gt: return Kind::Gt;
  case ast::Op::Ge: return Kind::Ge;
  case ast::Op::And: return Kind::And;
  case ast::Op::Or: return Kind::Or;
  default: return std::nullopt;
  }
}

struct Function {
  llvm::StringLiteral name;
  Kind kind;
  size_t tensors, values; // arguments: so many tensors, then so many values
};
constexpr Function kFunctions[] = {
    {"rank", Kind::Rank, 1, 0},       {"dim", Kind::Dim, 1, 1},
    {"shape", Kind::ShapeOf, 1, 0},   {"weight", Kind::IsWeight, 1, 0},
    {"none", Kind::IsNone, 1, 0},     {"constant", Kind::IsConstant, 1, 0},
    {"float", Kind::IsFloat, 1, 0},   {"same_type", Kind::SameType, 2, 0},
    {"min", Kind::Min, 0, 2},         {"max", Kind::Max, 0, 2},
    {"sqrt", Kind::Sqrt, 0, 1},       {"len", Kind::Len, 0, 1},
    {"compose", Kind::Permute, 0, 2},
};

bool is_truth(const ValueExpr& e, const std::optional<AttrKind>& kind) {
  if (e.kind == Kind::Literal) return e.literal.is(Value::Kind::Bool);
  if (e.kind == Kind::Variable) return kind == AttrKind::boolean;
  return (e.kind >= Kind::IsWeight && e.kind <= Kind::SameType) ||
         (e.kind >= Kind::Eq && e.kind <= Kind::Not);
}

bool is_word(llvm::StringRef name) {
  return llvm::is_contained(enum_members(AttrKind::act), name) ||
         llvm::is_contained(enum_members(AttrKind::pad), name);
}

/// Folding asks about no class.
struct NoClasses : ClassFacts {
  TypeId type(uint32_t) const override { return {}; }
  bool weight_only(uint32_t) const override { return false; }
  bool constant(uint32_t) const override { return false; }
};

} // namespace

bool is_rule_function(llvm::StringRef name) {
  return llvm::any_of(kFunctions, [&](const Function& f) { return f.name == name; });
}

ExprIndex RuleCompiler::push(ValueExpr expr) {
  rule_.exprs.push_back(std::move(expr));
  return static_cast<ExprIndex>(rule_.exprs.size() - 1);
}

ExprIndex RuleCompiler::literal_expr(Value value) {
  ValueExpr e;
  e.kind = Kind::Literal;
  e.literal = std::move(value);
  return push(std::move(e));
}

ExprIndex RuleCompiler::variable_expr(uint32_t number) {
  ValueExpr e;
  e.kind = Kind::Variable;
  e.variable = number;
  return push(std::move(e));
}

ExprIndex RuleCompiler::class_expr(Kind kind, uint32_t variable,
                                   llvm::ArrayRef<ExprIndex> operands) {
  ValueExpr e;
  e.kind = kind;
  e.variable = variable;
  e.operands.assign(operands.begin(), operands.end());
  return push(std::move(e));
}

ExprIndex RuleCompiler::op_expr(Kind kind, llvm::ArrayRef<ExprIndex> operands) {
  return class_expr(kind, 0, operands);
}

/// Conjunctions are taken apart, so that each condition can be tested, and used, on its own.
bool RuleCompiler::condition(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  if (e.kind == ast::ExprKind::Binary && e.op == ast::Op::And)
    return condition(e.a) && condition(e.b);
  if (e.kind == ast::ExprKind::Call && e.callee.text == "finite") return assume_finite(e);
  std::optional<ExprIndex> at = value(id);
  if (!at) return false;
  if (!is_truth(rule_.exprs[*at], kind_of(*at))) {
    fail(error(Code::wrong_kind, e.span, "a condition must be true or false"));
    return false;
  }
  rule_.conditions.push_back(*at);
  return true;
}

/// `finite(x)`: no condition but an assumption, which only `where` itself can make.
bool RuleCompiler::assume_finite(const ast::Expr& call) {
  llvm::ArrayRef<ast::Arg> args = tree_[call.args];
  bool one = args.size() == 1 && args[0].kind == ast::ArgKind::Positional &&
             tree_[args[0].value].kind == ast::ExprKind::Name;
  if (!one) {
    fail(error(Code::wrong_kind, call.span, "`finite` takes one tensor of the left side"));
    return false;
  }
  Meaning* meaning = tensor(args[0].value);
  if (!meaning) return false;
  if (!llvm::is_contained(rule_.finite, meaning->number)) rule_.finite.push_back(meaning->number);
  return true;
}

std::optional<ExprIndex> RuleCompiler::value(ast::ExprId id, std::optional<AttrKind> kind) {
  DepthGuard depth(*this);
  if (too_large(id)) return std::nullopt;
  const ast::Expr& e = tree_[id];
  switch (e.kind) {
  case ast::ExprKind::Error: failed_ = true; return std::nullopt;
  case ast::ExprKind::Int: return literal_expr(Value::of_int(e.int_value));
  case ast::ExprKind::Float: return literal_expr(Value::of_float(e.float_value));
  case ast::ExprKind::Bool: return literal_expr(Value::of_bool(e.int_value != 0));
  case ast::ExprKind::String: return literal_expr(Value::of_string(e.text));
  case ast::ExprKind::Name: return value_name(id, kind);
  case ast::ExprKind::List: return value_list(id);
  case ast::ExprKind::Call: return value_call(id);
  case ast::ExprKind::Unary: return value_unary(id);
  case ast::ExprKind::Binary: return value_binary(id);
  case ast::ExprKind::Index: {
    llvm::ArrayRef<ast::Slice> places = tree_[e.slices];
    if (places.size() != 1 || places[0].range) break;
    std::optional<ExprIndex> list = value(e.a), at = value(places[0].begin);
    if (!list || !at) return std::nullopt;
    return op_expr(Kind::Index, {*list, *at});
  }
  default: break;
  }
  return fail(error(Code::rule_pattern, e.span, "this cannot be computed in a rule"));
}

std::optional<ExprIndex> RuleCompiler::value_name(ast::ExprId id, std::optional<AttrKind> kind) {
  const ast::Expr& e = tree_[id];
  Meaning* meaning = attribute(id);
  if (failed_) return std::nullopt;
  if (!meaning) {
    llvm::ArrayRef<llvm::StringRef> words =
        kind ? enum_members(*kind) : llvm::ArrayRef<llvm::StringRef>();
    if (words.empty() ? is_word(e.text) : llvm::is_contained(words, e.text))
      return literal_expr(Value::of_enum(e.text));
    if (!words.empty())
      return fail(
          error(Code::unknown_name, e.span, "unknown name `{0}`", e.text)
              .suggest("it is a parameter of the rule, or one of " + llvm::join(words, ", ")));
    return unknown(id, "not a parameter of the rule");
  }
  switch (meaning->kind) {
  case Meaning::Kind::Value: return variable_expr(meaning->number);
  case Meaning::Kind::Alias: return meaning->expr;
  case Meaning::Kind::Operator: {
    llvm::StringRef name(op_info(meaning->op).name.data(), op_info(meaning->op).name.size());
    if (parse_act(name)) return literal_expr(Value::of_enum(name));
    return fail(error(Code::wrong_kind, e.span, "`{0}` is no activation", name));
  }
  case Meaning::Kind::Let: {
    LetGuard guard(*this, meaning->order);
    return value(meaning->let, kind);
  }
  default: return fail(error(Code::wrong_kind, e.span, "`{0}` is no compile-time value", e.text));
  }
}

std::optional<ExprIndex> RuleCompiler::value_list(ast::ExprId id) {
  llvm::SmallVector<ExprIndex, 4> items;
  for (ast::ExprId item : tree_[tree_[id].items]) {
    std::optional<ExprIndex> at = value(item);
    if (!at) return std::nullopt;
    items.push_back(*at);
  }
  return op_expr(Kind::List, items);
}

std::optional<ExprIndex> RuleCompiler::value_unary(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<ExprIndex> a = value(e.a);
  if (!a) return std::nullopt;
  return op_expr(e.op == ast::Op::Not ? Kind::Not : Kind::Neg, {*a});
}

std::optional<ExprIndex> RuleCompiler::value_binary(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<Kind> kind = binary_kind(e.op);
  if (!kind)
    return fail(
        error(Code::rule_pattern, e.op_span, "`{0}` cannot be computed in a rule", spelling(e.op)));
  std::optional<ExprIndex> a = value(e.a);
  if (!a) return std::nullopt;
  // A literal beside an attribute takes the attribute's normal form: `stride == 2` means [2, 2].
  std::optional<AttrKind> slot = kind_of(*a);
  std::optional<ExprIndex> b = value(e.b, slot);
  if (!b) return std::nullopt;
  if (!slot) slot = kind_of(*b);
  if (slot && (kind == Kind::Eq || kind == Kind::Ne))
    for (ExprIndex* side : {&*a, &*b})
      if (std::optional<Value> v = folded(*side))
        if (std::optional<Value> normal = normal_form(*slot, *v)) *side = literal_expr(*normal);
  return op_expr(*kind, {*a, *b});
}

std::optional<ExprIndex> RuleCompiler::value_call(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  const Function* function = nullptr;
  for (const Function& f : kFunctions)
    if (f.name == e.callee.text) function = &f;
  if (!function) {
    std::vector<llvm::StringRef> names;
    for (const Function& f : kFunctions) names.push_back(f.name);
    names.push_back("finite");
    Diagnostic d =
        error(Code::unknown_name, e.callee.span, "unknown function `{0}`", e.callee.text);
    d.help = "rules can ask " + llvm::join(names, ", ");
    return fail(std::move(d));
  }
  llvm::ArrayRef<ast::Arg> args = tree_[e.args];
  bool plain = llvm::all_of(args, [](auto& a) { return a.kind == ast::ArgKind::Positional; });
  size_t wanted = function->tensors + function->values;
  if (!plain || args.size() != wanted)
    return fail(error(args.size() > wanted ? Code::too_many_arguments : Code::missing_argument,
                      e.span, "`{0}` takes {1} argument{2}, got {3}", function->name, wanted,
                      wanted == 1 ? "" : "s", args.size()));
  ValueExpr expr;
  expr.kind = function->kind;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i < function->tensors) {
      if (tree_[args[i].value].kind != ast::ExprKind::Name)
        return fail(error(Code::rule_pattern, args[i].span,
                          "`{0}` asks about a parameter of the rule", function->name));
      Meaning* meaning = tensor(args[i].value);
      if (!meaning) return std::nullopt;
      (i == 0 ? expr.variable : expr.variable2) = meaning->number;
    } else {
      const ast::Expr& given = tree_[args[i].value];
      Meaning* meaning = given.kind == ast::ExprKind::Name ? find(given.text) : nullptr;
      if (meaning && meaning->kind == Meaning::Kind::Class)
        return fail(error(Code::wrong_kind, args[i].span,
                          "`{0}` is for compile-time values, and `{1}` is a tensor", function->name,
                          given.text)
                        .suggest(idiom_of_function(function->name)));
      std::optional<ExprIndex> at = value(args[i].value);
      if (!at) return std::nullopt;
      expr.operands.push_back(*at);
    }
  }
  return push(std::move(expr));
}

bool RuleCompiler::has_variables(ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  if (e.kind == Kind::Variable || e.kind == Kind::TypeLike ||
      (e.kind >= Kind::Rank && e.kind <= Kind::SameType))
    return true;
  return llvm::any_of(e.operands, [&](ExprIndex operand) { return has_variables(operand); });
}

/// The value of an expression without variables.
std::optional<Value> RuleCompiler::folded(ExprIndex at) {
  if (has_variables(at)) return std::nullopt;
  Symbols scratch;
  std::optional<ValueId> id = evaluate({rule_, scratch, {}, NoClasses{}}, at);
  if (!id) return std::nullopt;
  return scratch.value(*id);
}

std::optional<AttrKind> RuleCompiler::kind_of(ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  return e.kind == Kind::Variable ? value_kinds_[e.variable] : std::nullopt;
}

/// The form that attribute slots hold, where that needs no operand. nullopt if the kind does not
/// fit.
std::optional<Value> RuleCompiler::normal_form(AttrKind kind, Value v) {
  switch (kind) {
  case AttrKind::pair:
    if (v.is(Value::Kind::Int)) v = Value::of_ints({v.number, v.number});
    return v.is(Value::Kind::Ints) && v.ints.size() == 2 ? std::optional(v) : std::nullopt;
  case AttrKind::pad:
    if (v.is(Value::Kind::Int)) v = Value::of_ints({v.number, v.number});
    if (v.is(Value::Kind::Ints) && v.ints.size() == 2)
      v = Value::of_ints({v.ints[0], v.ints[1], v.ints[0], v.ints[1]});
    if (v.is(Value::Kind::Ints) && v.ints.size() == 4) {
      bool none = llvm::all_of(v.ints, [](int64_t n) { return n == 0; });
      return none ? Value::of_enum("valid") : v;
    }
    return v.is(Value::Kind::Enum) ? std::optional(v) : std::nullopt;
  case AttrKind::real:
    if (v.is(Value::Kind::Int)) v = Value::of_float(static_cast<double>(v.number));
    return v.is(Value::Kind::Float) ? std::optional(v) : std::nullopt;
  case AttrKind::axes:
    if (v.is(Value::Kind::Int)) v = Value::of_ints({v.number});
    return v.is(Value::Kind::Ints) ? std::optional(v) : std::nullopt;
  case AttrKind::axis:
  case AttrKind::integer: return v.is(Value::Kind::Int) ? std::optional(v) : std::nullopt;
  case AttrKind::boolean: return v.is(Value::Kind::Bool) ? std::optional(v) : std::nullopt;
  case AttrKind::ints: return v.is(Value::Kind::Ints) ? std::optional(v) : std::nullopt;
  case AttrKind::act:
    return v.is(Value::Kind::Enum) && parse_act(v.text) ? std::optional(v) : std::nullopt;
  case AttrKind::dtype:
    return v.is(Value::Kind::Enum) && parse_dtype(v.text) ? std::optional(v) : std::nullopt;
  case AttrKind::string: return v.is(Value::Kind::String) ? std::optional(v) : std::nullopt;
  case AttrKind::floats: return v.is(Value::Kind::Floats) ? std::optional(v) : std::nullopt;
  case AttrKind::type: return v.is(Value::Kind::Type) ? std::optional(v) : std::nullopt;
  }
  return std::nullopt;
}

} // namespace tg
