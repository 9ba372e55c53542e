#include "compiler/rules/compile/draft.h"

#include "lang/core/support/round_number.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

constexpr uint32_t kMaxDepth = 500;
constexpr size_t kMaxSize = 10'000; // limit on terms, expressions

} // namespace

std::optional<Value> normal_form(AttrKind kind, Value v) {
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
    if (!v.is(Value::Kind::Int) && !v.is(Value::Kind::Float)) return std::nullopt;
    return normal_number(v, DType::None);
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
  case AttrKind::floats:
    if (!v.is(Value::Kind::Ints) && !v.is(Value::Kind::Floats)) return std::nullopt;
    return normal_numbers(v, DType::None);
  case AttrKind::type: return v.is(Value::Kind::Type) ? std::optional(v) : std::nullopt;
  }
  return std::nullopt;
}

// --- variables and terms -----------------------------------------------------------------------

uint32_t RuleDraft::new_class(std::string name) {
  rule_.class_var_names.push_back(std::move(name));
  return rule_.class_vars++;
}

uint32_t RuleDraft::new_value(const std::string& name, std::optional<AttrKind> kind) {
  std::string unique = name;
  for (int i = 2; llvm::is_contained(rule_.value_var_names, unique); ++i)
    unique = name + std::to_string(i);
  rule_.value_var_names.push_back(std::move(unique));
  value_kinds_.push_back(kind);
  return rule_.value_vars++;
}

std::optional<AttrKind> RuleDraft::kind_of(ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  return e.kind == Kind::Variable ? value_kinds_[e.variable] : std::nullopt;
}

TermId RuleDraft::add(Term term) {
  rule_.terms.push_back(std::move(term));
  return static_cast<TermId>(rule_.terms.size() - 1);
}

TermId RuleDraft::constant(TermAttr values) {
  Term term = Term::of(OpKind::Constant, {});
  term.attrs.push_back(std::move(values));
  if (on_left_ || !dtype_var_) // until it has a neighbour with a dtype
    term.attrs.push_back(TermAttr::of(Value::of_type(f32({}))));
  else
    term.attrs.push_back(
        computed(exprs_.of_class(Kind::TypeLike, *dtype_var_, {exprs_.op(Kind::List, {})})));
  TermId id = add(std::move(term));
  numbers_.insert(id);
  return id;
}

TermId RuleDraft::filled(ExprIndex number, ExprIndex shape) {
  Term term = Term::of(OpKind::Constant, {});
  term.attrs.push_back(floats(number));
  term.attrs.push_back(computed(exprs_.of_class(Kind::TypeLike, *dtype_var_, {shape})));
  return add(std::move(term));
}

void RuleDraft::note_operand(OpKind op, size_t index, TermId operand) {
  const Term& made = rule_.terms[operand];
  bool number = !op_info(op).chooses(index);
  if (!dtype_var_ && number && made.kind == Term::Kind::ClassVar) dtype_var_ = made.variable;
}

void RuleDraft::set_number_dtypes(const Term& user) {
  auto is_number = [&](TermId id) { return numbers_.count(id) != 0; };
  std::optional<uint32_t> like;
  for (size_t i = 0; i < user.operands.size() && !like; ++i)
    if (!is_number(user.operands[i]) && !op_info(user.op).chooses(i))
      like = types_.dtype_like(user.operands[i]);
  for (size_t i = 0; i < user.operands.size() && like; ++i) {
    TermId number = user.operands[i];
    if (!is_number(number) || op_info(user.op).chooses(i)) continue;
    numbers_.erase(number);
    ExprIndex type = exprs_.of_class(Kind::TypeLike, *like, {exprs_.op(Kind::List, {})});
    const AttrInfo& slot = op_info(OpKind::Constant).attrs()[1];
    rule_.terms[number].attrs[1] = on_left_ ? equal_to(type, slot) : computed(type);
  }
}

// --- slots -------------------------------------------------------------------------------------

TermAttr RuleDraft::equal_to(ExprIndex expr, const AttrInfo& info) {
  uint32_t variable = new_value(std::string(info.name), info.kind);
  require(exprs_.op(Kind::Eq, {exprs_.variable(variable), expr}));
  return TermAttr::of_variable(variable);
}

TermAttr RuleDraft::computed(ExprIndex expr) {
  const ValueExpr& e = rule_.exprs[expr];
  return e.kind == Kind::Variable ? TermAttr::of_variable(e.variable) : TermAttr::of_expr(expr);
}

TermAttr RuleDraft::folded(ExprIndex expr) {
  std::optional<Value> v = exprs_.folded(expr);
  return v ? TermAttr::of(*v) : computed(expr);
}

TermAttr RuleDraft::slot(ExprIndex expr, const AttrInfo& info) {
  if (!on_left_ || !exprs_.has_variables(expr)) return folded(expr);
  return equal_to(expr, info);
}

TermAttr RuleDraft::floats(ExprIndex number) { return folded(exprs_.op(Kind::Floats, {number})); }

std::optional<ExprIndex> RuleDraft::last_two_swapped(TermId operand, Span at) {
  std::optional<ExprIndex> rank = types_.rank(operand);
  if (!rank)
    return errors_.fail(
        error(Code::rule_pattern, at,
              "the rank is unknown here: `transpose` requires the attribute `perm`"));
  ExprIndex last = exprs_.op(Kind::Sub, {*rank, exprs_.integer(1)});
  ExprIndex before = exprs_.op(Kind::Sub, {*rank, exprs_.integer(2)});
  ExprIndex stay = exprs_.op(Kind::Range, {exprs_.integer(0), before});
  return exprs_.op(Kind::Add, {stay, exprs_.op(Kind::List, {last, before})});
}

// --- size --------------------------------------------------------------------------------------

bool RuleDraft::too_large(Span at) {
  if (depth_ <= kMaxDepth && rule_.terms.size() <= kMaxSize && rule_.exprs.size() <= kMaxSize)
    return errors_.failed();
  errors_.fail(error(Code::rule_pattern, at,
                     "rule `{0}` is too large: its lets unfold into more "
                     "than {1} parts, or deeper than {2}",
                     name_, kMaxSize, kMaxDepth));
  return true;
}

} // namespace tg
