#include "compiler/rules/compile/values.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/StringExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

/// Queries of tensors in rules, and composition of permutations, which models lack. Everything else
/// is arithmetic (const_math.h).
struct Function {
  llvm::StringLiteral name;
  Kind kind;
  size_t tensors, values; // number of arguments: first tensors, then values
};
constexpr Function kFunctions[] = {
    {"rank", Kind::Rank, 1, 0},           {"dim", Kind::Dim, 1, 1},
    {"shape", Kind::ShapeOf, 1, 0},       {"dtype", Kind::DTypeOf, 1, 0},
    {"weight", Kind::IsWeight, 1, 0},     {"none", Kind::IsNone, 1, 0},
    {"constant", Kind::IsConstant, 1, 0}, {"float", Kind::IsFloat, 1, 0},
    {"same_type", Kind::SameType, 2, 0},  {"compose", Kind::Permute, 0, 2},
};

bool is_boolean(const ValueExpr& e, const std::optional<AttrKind>& kind) {
  if (e.kind == Kind::Literal) return e.literal.is(Value::Kind::Bool);
  if (e.kind == Kind::Variable) return kind == AttrKind::boolean;
  return (e.kind >= Kind::IsWeight && e.kind <= Kind::SameType) ||
         (e.kind >= Kind::Eq && e.kind <= Kind::Or) || e.kind == Kind::Not;
}

} // namespace

bool is_rule_function(llvm::StringRef name) {
  return const_function(name) ||
         llvm::any_of(kFunctions, [&](const Function& f) { return f.name == name; });
}

std::optional<ExprIndex> RuleValues::value(ast::ExprId id, std::optional<AttrKind> kind) {
  RuleDraft::Depth depth(draft_);
  if (draft_.too_large(tree_[id].span)) return std::nullopt;
  const ast::Expr& e = tree_[id];
  switch (e.kind) {
  case ast::ExprKind::Error: return errors_.give_up();
  case ast::ExprKind::Int: return exprs_.literal(Value::of_int(e.int_value));
  case ast::ExprKind::Float: return exprs_.literal(Value::of_float(e.float_value));
  case ast::ExprKind::Bool: return exprs_.literal(Value::of_bool(e.int_value != 0));
  case ast::ExprKind::String: return exprs_.literal(Value::of_string(e.text));
  case ast::ExprKind::Name: return name(id, kind);
  case ast::ExprKind::List: return list(id);
  case ast::ExprKind::Call: return call(id);
  case ast::ExprKind::Unary: return unary(id);
  case ast::ExprKind::Binary: return binary(id);
  case ast::ExprKind::Index: return index(id);
  default: break;
  }
  return errors_.fail(error(Code::rule_pattern, e.span, "this cannot be computed in a rule"));
}

std::optional<ExprIndex> RuleValues::name(ast::ExprId id, std::optional<AttrKind> kind) {
  const ast::Expr& e = tree_[id];
  RuleNames::Meaning* meaning = names_.attribute(id);
  if (errors_.failed()) return std::nullopt;
  if (!meaning) return word(id, kind);
  switch (meaning->kind) {
  case RuleNames::Meaning::Kind::Value: return exprs_.variable(meaning->number);
  case RuleNames::Meaning::Kind::Alias: return meaning->expr;
  case RuleNames::Meaning::Kind::Operator: {
    llvm::StringRef name(op_info(meaning->op).name.data(), op_info(meaning->op).name.size());
    if (parse_act(name)) return exprs_.literal(Value::of_enum(name));
    return errors_.fail(error(Code::wrong_kind, e.span, "`{0}` is not an activation", name));
  }
  case RuleNames::Meaning::Kind::Let: {
    RuleNames::LetScope guard(names_, *meaning);
    return value(meaning->let, kind);
  }
  default:
    return errors_.fail(
        error(Code::wrong_kind, e.span, "`{0}` is not a compile-time value", e.text));
  }
}

/// Returns the value of a word of the language: an enumerator, `inf`.
std::optional<ExprIndex> RuleValues::word(ast::ExprId id, std::optional<AttrKind> kind) {
  const ast::Expr& e = tree_[id];
  llvm::ArrayRef<llvm::StringRef> words =
      kind ? enum_members(*kind) : llvm::ArrayRef<llvm::StringRef>();
  if (llvm::is_contained(words, e.text)) return exprs_.literal(Value::of_enum(e.text));
  if (std::optional<Value> word = constant_of_name(e.text);
      word && (words.empty() || !word->is(Value::Kind::Enum)))
    return exprs_.literal(std::move(*word));
  if (!words.empty())
    return errors_.fail(
        error(Code::unknown_name, e.span, "unknown name `{0}`", e.text)
            .suggest("use a parameter of the rule, or one of " + llvm::join(words, ", ")));
  return names_.unknown(id, "not a parameter of the rule");
}

/// `[a, S..., b]`: spread lists are joined with their neighbours.
std::optional<ExprIndex> RuleValues::list(ast::ExprId id) {
  std::optional<ExprIndex> whole;
  llvm::SmallVector<ExprIndex, 4> items;
  auto join = [&](ExprIndex list) { whole = whole ? exprs_.op(Kind::Add, {*whole, list}) : list; };
  for (ast::ExprId item : tree_[tree_[id].items]) {
    bool spread = tree_[item].kind == ast::ExprKind::Spread;
    std::optional<ExprIndex> at = spread ? name(item, {}) : value(item);
    if (!at) return std::nullopt;
    if (!spread) {
      items.push_back(*at);
      continue;
    }
    if (!items.empty()) join(exprs_.op(Kind::List, items));
    items.clear();
    join(*at);
  }
  if (!items.empty() || !whole) join(exprs_.op(Kind::List, items));
  return whole;
}

/// Lowers `list[i]`, `list[1:]`, `list[a:b:2]`.
std::optional<ExprIndex> RuleValues::index(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  llvm::ArrayRef<ast::Slice> places = tree_[e.slices];
  if (places.size() != 1 || places[0].ellipsis)
    return errors_.fail(error(Code::wrong_kind, e.span, "the index of a list must be one integer"));
  const ast::Slice place = places[0];
  std::optional<ExprIndex> list = value(e.a);
  if (!list) return std::nullopt;
  auto bound = [&](ast::ExprId written, auto otherwise) -> std::optional<ExprIndex> {
    return written.valid() ? value(written) : otherwise();
  };
  auto number = [&](int64_t n) { return [=, this] { return exprs_.literal(Value::of_int(n)); }; };
  std::optional<ExprIndex> begin = bound(place.begin, number(0));
  if (!begin) return std::nullopt;
  if (!place.range) return exprs_.op(Kind::Index, {*list, *begin});
  std::optional<ExprIndex> end = bound(place.end, [&] { return exprs_.op(Kind::Len, {*list}); });
  if (!end) return std::nullopt;
  std::optional<ExprIndex> step = bound(place.step, number(1));
  if (!step) return std::nullopt;
  return exprs_.op(Kind::Slice, {*list, *begin, *end, *step});
}

std::optional<ExprIndex> RuleValues::unary(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<ExprIndex> a = value(e.a);
  if (!a) return std::nullopt;
  return exprs_.op(ValueExpr::of(*const_op(e.op)), {*a});
}

std::optional<ExprIndex> RuleValues::binary(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<ConstOp> op = const_op(e.op);
  if (!op)
    return errors_.fail(
        error(Code::rule_pattern, e.op_span, "`{0}` cannot be computed in a rule", spelling(e.op)));
  Kind kind = ValueExpr::of(*op);
  std::optional<ExprIndex> a = value(e.a);
  if (!a) return std::nullopt;
  // A literal compared with an attribute takes its normal form: `stride == 2` means [2, 2].
  std::optional<AttrKind> slot = draft_.kind_of(*a);
  std::optional<ExprIndex> b = value(e.b, slot);
  if (!b) return std::nullopt;
  if (!slot) slot = draft_.kind_of(*b);
  if (slot && (kind == Kind::Eq || kind == Kind::Ne))
    for (ExprIndex* side : {&*a, &*b})
      if (std::optional<Value> v = exprs_.folded(*side))
        if (std::optional<Value> normal = normal_form(*slot, *v)) *side = exprs_.literal(*normal);
  return exprs_.op(kind, {*a, *b});
}

std::optional<ExprIndex> RuleValues::call(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  llvm::ArrayRef<ast::Arg> args = tree_[e.args];
  const auto* function =
      llvm::find_if(kFunctions, [&](const Function& f) { return f.name == e.callee.text; });
  std::optional<ConstOp> computes = const_function(e.callee.text);
  // `float(x)` is a query of a tensor, and a conversion of a number.
  bool asks = function != std::end(kFunctions) &&
              (!computes || (args.size() == 1 && args[0].value && names_.is_tensor(args[0].value)));
  if (!asks && !computes) return unknown_function(e);
  bool plain = llvm::all_of(args, [](auto& a) { return a.kind == ast::ArgKind::Positional; });
  bool many = !asks && (computes == ConstOp::Min || computes == ConstOp::Max);
  size_t wanted = asks ? function->tensors + function->values : many ? 2 : 1;
  if (!asks && computes == ConstOp::Pow) wanted = 2;
  bool more = args.size() > wanted && !many;
  if (!plain || more || args.size() < wanted)
    return errors_.fail(error(more ? Code::too_many_arguments : Code::missing_argument, e.span,
                              "`{0}` takes {1} argument{2}, got {3}", e.callee.text, wanted,
                              wanted == 1 ? "" : "s", args.size()));
  return asks ? question(id, function->kind, function->tensors) : arithmetic(id, *computes);
}

std::nullopt_t RuleValues::unknown_function(const ast::Expr& call) {
  std::vector<llvm::StringRef> names;
  for (const Function& f : kFunctions) names.push_back(f.name);
  names.push_back("finite");
  Diagnostic d =
      error(Code::unknown_name, call.callee.span, "unknown function `{0}`", call.callee.text);
  d.help = "rules can use " + llvm::join(names, ", ") + ", and the expressions of models";
  return errors_.fail(std::move(d));
}

/// Lowers `rank(x)`, `dim(x, -1)`: `tensors` names of tensors, then values.
std::optional<ExprIndex> RuleValues::question(ast::ExprId id, Kind kind, size_t tensors) {
  const ast::Expr& e = tree_[id];
  ValueExpr expr;
  expr.kind = kind;
  for (size_t i = 0; i < e.args.size(); ++i) {
    const ast::Arg arg = tree_[e.args][i];
    if (i >= tensors) {
      std::optional<ExprIndex> at = argument(e.callee.text, arg);
      if (!at) return std::nullopt;
      expr.operands.push_back(*at);
      continue;
    }
    std::optional<ast::ExprId> name = queried_parameter(arg.value, kind);
    if (!name)
      return errors_.fail(error(Code::rule_pattern, arg.span,
                                "the argument of `{0}` must be a parameter of the rule",
                                e.callee.text));
    RuleNames::Meaning* meaning = names_.tensor(*name);
    if (!meaning) return std::nullopt;
    (i == 0 ? expr.variable : expr.variable2) = meaning->number;
  }
  return exprs_.push(std::move(expr));
}

/// Returns the parameter with the same rank, shape or dtype: the name itself, or the operand of
/// operators that keep these.
std::optional<ast::ExprId> RuleValues::queried_parameter(ast::ExprId id, Kind kind) {
  const ast::Expr& e = tree_[id];
  bool type = kind == Kind::Rank || kind == Kind::Dim || kind == Kind::ShapeOf ||
              kind == Kind::DTypeOf || kind == Kind::IsFloat;
  RuleNames::Meaning* named = names_.let(e);
  if (named && named->part < 0 && type) {
    RuleNames::LetScope guard(names_, *named);
    named->used = e.span;
    return queried_parameter(named->let, kind);
  }
  if (e.kind == ast::ExprKind::Name) return id;
  if (!type) return std::nullopt;
  if (e.kind == ast::ExprKind::Unary && e.op == ast::Op::Neg) return queried_parameter(e.a, kind);
  if (e.kind == ast::ExprKind::Binary && e.op >= ast::Op::Add && e.op <= ast::Op::Pow &&
      e.op != ast::Op::MatMul && names_.is_tensor(e.a) != names_.is_tensor(e.b)) // next to a number
    return queried_parameter(names_.is_tensor(e.a) ? e.a : e.b, kind);
  std::optional<OpKind> op = e.kind == ast::ExprKind::Call ? names_.operator_of(e) : std::nullopt;
  if (!op || e.args.empty() || tree_[e.args][0].kind != ast::ArgKind::Positional)
    return std::nullopt;
  ShapeRule rule = op_info(*op).shape;
  if (!keeps_shape(rule) || rule == ShapeRule::cast) return std::nullopt; // cast changes the dtype
  return queried_parameter(tree_[e.args][0].value, kind);
}

/// Lowers `min(a, b, c)`, `sqrt(a)` as the language does, two operands at a time.
std::optional<ExprIndex> RuleValues::arithmetic(ast::ExprId id, ConstOp op) {
  const ast::Expr& e = tree_[id];
  std::optional<ExprIndex> whole;
  for (size_t i = 0; i < e.args.size(); ++i) {
    std::optional<ExprIndex> at = argument(e.callee.text, tree_[e.args][i]);
    if (!at) return std::nullopt;
    whole = whole ? exprs_.op(ValueExpr::of(op), {*whole, *at}) : *at;
  }
  return e.args.size() == 1 ? exprs_.op(ValueExpr::of(op), {*whole}) : whole;
}

/// Lowers an argument that is a compile-time value.
std::optional<ExprIndex> RuleValues::argument(llvm::StringRef function, const ast::Arg& arg) {
  const ast::Expr& given = tree_[arg.value];
  RuleNames::Meaning* meaning = given.kind == ast::ExprKind::Name ? names_.find(given) : nullptr;
  if (meaning && meaning->kind == RuleNames::Meaning::Kind::Class)
    return errors_.fail(error(Code::wrong_kind, arg.span,
                              "`{0}` is for compile-time values, and `{1}` is a tensor", function,
                              given.text)
                            .suggest(idiom_of_function(function)));
  return value(arg.value);
}

bool RuleValues::condition(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  if (e.kind == ast::ExprKind::Binary && e.op == ast::Op::And)
    return condition(e.a) && condition(e.b);
  if (e.kind == ast::ExprKind::Call && e.callee.text == "finite") return assume_finite(e);
  std::optional<ExprIndex> at = value(id);
  if (!at) return false;
  if (!is_boolean(draft_.rule().exprs[*at], draft_.kind_of(*at))) {
    errors_.fail(error(Code::wrong_kind, e.span, "a condition must be true or false"));
    return false;
  }
  // A known true condition is omitted; this happens in functions, whose arguments may
  // decide conditions.
  std::optional<Value> known = exprs_.folded(*at);
  if (!known || !known->is(Value::Kind::Bool) || !known->number) draft_.require(*at);
  return true;
}

/// `finite(x)` is an assumption, not a condition, and is valid only directly in `where`.
bool RuleValues::assume_finite(const ast::Expr& call) {
  llvm::ArrayRef<ast::Arg> args = tree_[call.args];
  bool one = args.size() == 1 && args[0].kind == ast::ArgKind::Positional &&
             tree_[args[0].value].kind == ast::ExprKind::Name;
  if (!one) {
    errors_.fail(
        error(Code::wrong_kind, call.span, "`finite` requires one tensor of the left side"));
    return false;
  }
  RuleNames::Meaning* meaning = names_.tensor(args[0].value);
  if (!meaning) return false;
  if (!llvm::is_contained(draft_.rule().finite, meaning->number))
    draft_.rule().finite.push_back(meaning->number);
  return true;
}

} // namespace tg
