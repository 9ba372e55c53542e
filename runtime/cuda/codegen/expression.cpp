#include "runtime/cuda/codegen/expression.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tg::cuda {

ExprId ExprPool::intern(Expr expr) {
  Key key{expr.kind,
          expr.scalar,
          expr.op,
          expr.dtype,
          expr.parameter,
          expr.index,
          expr.condition,
          std::bit_cast<uint64_t>(expr.number),
          {expr.args.begin(), expr.args.end()}};
  auto [it, fresh] = index_.try_emplace(std::move(key), static_cast<ExprId>(exprs_.size()));
  if (!fresh) return it->second;
  for (ExprId arg : expr.args) expr.variables |= exprs_[arg].variables;
  expr.variables |= variables_of(expr.condition);
  exprs_.push_back(std::move(expr));
  return it->second;
}

ExprId ExprPool::number(Scalar scalar, double value) {
  return intern({.kind = Expr::Kind::Number, .scalar = scalar, .number = value});
}

/// Splits an integer that no double represents into two halves.
ExprId ExprPool::number(Scalar scalar, const Value& attr) {
  if (!attr.is(Value::Kind::Int)) return number(scalar, attr.real);
  int64_t high = attr.number >> 32, low = attr.number & 0xffffffff;
  ExprId shifted =
      apply(OpKind::Mul, {number(scalar, static_cast<double>(high)), number(scalar, 0x1p32)});
  return apply(OpKind::Add, {shifted, number(scalar, static_cast<double>(low))});
}

ExprId ExprPool::index(IndexId index) {
  return intern({.kind = Expr::Kind::Index,
                 .scalar = Scalar::Integer,
                 .index = index,
                 .variables = indices_->form(index).variables});
}

ExprId ExprPool::load(uint32_t parameter, DType dtype, IndexId index, ConditionId condition) {
  return intern({.kind = Expr::Kind::Load,
                 .scalar = scalar_of(dtype),
                 .dtype = dtype,
                 .parameter = parameter,
                 .index = index,
                 .condition = condition,
                 .variables = indices_->form(index).variables});
}

ExprId ExprPool::apply(OpKind op, Scalar result, llvm::ArrayRef<ExprId> args) {
  if (op == OpKind::Identity) return args[0];
  return intern(
      {.kind = Expr::Kind::Apply, .scalar = result, .op = op, .args = {args.begin(), args.end()}});
}

ExprId ExprPool::choose(ConditionId condition, ExprId yes, ExprId no) {
  if (condition == kAlways || yes == no) return yes;
  return intern({.kind = Expr::Kind::Choose,
                 .scalar = exprs_[yes].scalar,
                 .condition = condition,
                 .args = {yes, no}});
}

ExprId ExprPool::convert(DType to, ExprId value) {
  if (to == DType::F32 && exprs_[value].scalar == Scalar::Float) return value;
  return intern(
      {.kind = Expr::Kind::Convert, .scalar = scalar_of(to), .dtype = to, .args = {value}});
}

ExprId ExprPool::stage(uint32_t number, Scalar scalar, uint64_t variables) {
  return intern(
      {.kind = Expr::Kind::Stage, .scalar = scalar, .parameter = number, .variables = variables});
}

ConditionId ExprPool::intern(std::vector<ConditionTerm> terms) {
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  auto [it, fresh] =
      condition_index_.try_emplace(terms, static_cast<ConditionId>(conditions_.size()));
  if (fresh) conditions_.push_back(std::move(terms));
  return it->second;
}

ConditionId ExprPool::also(ConditionId condition, IndexId index, int64_t low, int64_t high) {
  auto down = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); };
  for (;;) { // each iteration handles a smaller form
    const IndexForm form = indices_->form(index);
    if (form.low >= low && form.high <= high) return condition;
    low = std::max(low, form.low);
    high = std::min(high, form.high);
    if (form.terms.empty() || low > high) break; // never true
    int64_t common = 0;
    for (const IndexTerm& term : form.terms) common = std::gcd(common, term.factor);
    if (common > 1 || form.constant != 0) {
      index = indices_->divide(indices_->shift(index, -form.constant), common);
      low = -down(form.constant - low, common);
      high = down(high - form.constant, common);
      continue;
    }
    const IndexAtom atom = indices_->atom(form.terms[0].atom);
    bool alone = form.terms.size() == 1 && form.terms[0].factor == 1;
    if (!alone || atom.kind != IndexAtom::Kind::Quotient) break;
    index = atom.of;
    low *= atom.by;
    high = high * atom.by + atom.by - 1;
  }
  std::vector<ConditionTerm> terms = conditions_[condition];
  terms.push_back({false, index, low, high});
  return intern(std::move(terms));
}

ConditionId ExprPool::also_value(ConditionId condition, ExprId value, int64_t low, int64_t high) {
  std::vector<ConditionTerm> terms = conditions_[condition];
  terms.push_back({true, value, low, high});
  return intern(std::move(terms));
}

uint64_t ExprPool::variables_of(ConditionId id) const {
  uint64_t variables = 0;
  for (const ConditionTerm& term : conditions_[id])
    variables |= term.of_value ? exprs_[term.id].variables : indices_->form(term.id).variables;
  return variables;
}

} // namespace tg::cuda
