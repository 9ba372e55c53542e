#include "compiler/rules/compile/exprs.h"

#include "compiler/rules/eval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

/// Folding does not query classes.
struct NoClasses : ClassFacts {
  TypeId type(uint32_t) const override { return {}; }
  bool weight_only(uint32_t) const override { return false; }
  bool constant(uint32_t) const override { return false; }
};

} // namespace

ExprIndex RuleExprs::push(ValueExpr expr) {
  rule_.exprs.push_back(std::move(expr));
  return static_cast<ExprIndex>(rule_.exprs.size() - 1);
}

ExprIndex RuleExprs::literal(Value value) {
  ValueExpr e;
  e.kind = Kind::Literal;
  e.literal = std::move(value);
  return push(std::move(e));
}

ExprIndex RuleExprs::variable(uint32_t number) {
  ValueExpr e;
  e.kind = Kind::Variable;
  e.variable = number;
  return push(std::move(e));
}

ExprIndex RuleExprs::of_class(Kind kind, uint32_t variable, llvm::ArrayRef<ExprIndex> operands) {
  ValueExpr e;
  e.kind = kind;
  e.variable = variable;
  e.operands.assign(operands.begin(), operands.end());
  return push(std::move(e));
}

ExprIndex RuleExprs::op(Kind kind, llvm::ArrayRef<ExprIndex> operands) {
  return of_class(kind, 0, operands);
}

ExprIndex RuleExprs::plus(ExprIndex a, ExprIndex b) {
  ExprIndex sum = op(Kind::Add, {a, b});
  std::optional<int64_t> known = folded_int(sum);
  return known ? integer(*known) : sum;
}

ExprIndex RuleExprs::minus(ExprIndex a, ExprIndex b) {
  ExprIndex difference = op(Kind::Sub, {a, b});
  std::optional<int64_t> known = folded_int(difference);
  return known ? integer(*known) : difference;
}

ExprIndex RuleExprs::part(ExprIndex list, ExprIndex from, ExprIndex to) {
  return op(Kind::Slice, {list, from, to, integer(1)});
}

ExprIndex RuleExprs::of(const TermAttr& attr) {
  switch (attr.kind) {
  case TermAttr::Kind::Variable: return variable(attr.variable);
  case TermAttr::Kind::Literal: return literal(attr.literal);
  case TermAttr::Kind::Computed: break;
  }
  return attr.expr;
}

bool RuleExprs::has_variables(ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  if (e.kind == Kind::Variable || e.kind == Kind::TypeLike || e.queries_class()) return true;
  return llvm::any_of(e.operands, [&](ExprIndex operand) { return has_variables(operand); });
}

std::optional<Value> RuleExprs::folded(ExprIndex at) const {
  if (has_variables(at)) return std::nullopt;
  return evaluate_value({rule_, no_symbols_, {}, NoClasses{}}, at);
}

std::optional<int64_t> RuleExprs::folded_int(ExprIndex at) const {
  std::optional<Value> v = folded(at);
  return v && v->is(Value::Kind::Int) ? std::optional(v->number) : std::nullopt;
}

} // namespace tg
