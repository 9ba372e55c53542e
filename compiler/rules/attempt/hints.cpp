#include "compiler/rules/attempt/hints.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

} // namespace

RuleHints::RuleHints(Symbols& symbols, const Rule& rule, RuleInstance& instance)
    : symbols_(symbols), rule_(rule), in_(instance), classes_(rule.class_vars),
      values_(rule.value_vars) {
  for (ExprIndex condition : rule.conditions) read(condition, true);
}

void RuleHints::read(ExprIndex at, bool truth) {
  const ValueExpr& e = rule_.exprs[at];
  switch (e.kind) {
  case Kind::Not: return read(e.operands[0], !truth);
  case Kind::IsWeight: classes_[e.variable].weight = truth; return;
  case Kind::IsNone: classes_[e.variable].none = truth; return;
  case Kind::IsConstant: classes_[e.variable].constant = truth; return;
  case Kind::Ge:
    if (const ValueExpr& dim = rule_.exprs[e.operands[0]]; truth && dim.kind == Kind::Dim)
      classes_[dim.variable].least_dims.push_back({dim.operands[0], e.operands[1]});
    return;
  case Kind::Eq:
    if (!truth) return;
    equality(e.operands[0], e.operands[1]);
    equality(e.operands[1], e.operands[0]);
    return;
  default: return;
  }
}

void RuleHints::equality(ExprIndex side, ExprIndex other) {
  const ValueExpr& e = rule_.exprs[side];
  switch (e.kind) {
  case Kind::Variable: values_[e.variable].equals.push_back(other); return;
  case Kind::Rank: classes_[e.variable].ranks.push_back(other); return;
  case Kind::Index:
    if (const ValueExpr& list = rule_.exprs[e.operands[0]]; list.kind == Kind::Variable)
      values_[list.variable].entries.push_back({e.operands[1], other});
    return;
  case Kind::ShapeOf: classes_[e.variable].shapes.push_back(other); return;
  case Kind::Dim: classes_[e.variable].dims.push_back({e.operands[0], other}); return;
  default: return;
  }
}

int64_t RuleHints::dim(const Term& term, int64_t axis, int64_t otherwise) const {
  return size_of(term, &Hints::dims, axis, otherwise);
}

int64_t RuleHints::least_dim(const Term& term, int64_t axis, int64_t otherwise) const {
  return size_of(term, &Hints::least_dims, axis, otherwise);
}

int64_t RuleHints::size_of(const Term& term, decltype(Hints::dims) Hints::*hints, int64_t axis,
                           int64_t otherwise) const {
  if (term.kind != Term::Kind::ClassVar) return otherwise;
  for (auto [axis_expr, size_expr] : classes_[term.variable].*hints)
    if (std::optional<int64_t> dim = int_of(size_expr); dim && int_of(axis_expr) == axis)
      return std::max<int64_t>(*dim, 1);
  return otherwise;
}

Shape RuleHints::shape(uint32_t variable, int64_t least_rank, InstanceDraws& draws) const {
  const Hints& hints = classes_[variable];
  for (ExprIndex at : hints.shapes)
    if (std::optional<Value> v = value_of(at); v && v->is(Value::Kind::Ints))
      return Shape(v->ints.begin(), v->ints.end());
  Shape shape = draws.any_shape(least_rank);
  std::optional<Shape> like = draws.chance(60) ? bound_shape(draws) : std::nullopt;
  if (like && static_cast<int64_t>(like->size()) >= least_rank) shape = *like;
  for (ExprIndex at : hints.ranks)
    if (std::optional<int64_t> rank = int_of(at); rank && *rank >= 0 && *rank <= kMaxRank) {
      if (like && static_cast<int64_t>(like->size()) == *rank) continue;
      shape.resize(static_cast<size_t>(*rank));
      for (int64_t& dim : shape) dim = draws.size();
    }
  for (auto [axis_expr, size_expr] : hints.dims) {
    std::optional<int64_t> axis = int_of(axis_expr), dim = int_of(size_expr);
    if (!axis || !dim) continue;
    int64_t rank = static_cast<int64_t>(shape.size());
    if (*axis >= -rank && *axis<rank&& * dim> 0)
      shape[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)] = *dim;
  }
  return shape;
}

std::optional<Shape> RuleHints::bound_shape(InstanceDraws& draws) const {
  llvm::SmallVector<const TensorType*, 8> bound;
  for (TypeId id : in_.types)
    if (id != TypeId{} && !symbols_.type(id).is_none()) bound.push_back(&symbols_.type(id));
  if (bound.empty()) return std::nullopt;
  Shape shape = bound[static_cast<size_t>(draws.between(0, last(bound)))]->shape;
  if (!shape.empty() && draws.chance(40))
    shape[static_cast<size_t>(draws.between(0, last(shape)))] = draws.size();
  return shape;
}

std::optional<Value> RuleHints::value(uint32_t variable) const {
  for (ExprIndex at : values_[variable].equals)
    if (std::optional<Value> v = value_of(at)) return v;
  return std::nullopt;
}

bool RuleHints::waits(uint32_t variable) const {
  return !values_[variable].equals.empty() && !value(variable);
}

std::optional<uint32_t> RuleHints::typed_like(uint32_t variable) const {
  for (ExprIndex at : values_[variable].equals)
    if (const ValueExpr& like = rule_.exprs[at]; like.kind == Kind::TypeLike) return like.variable;
  return std::nullopt;
}

Value RuleHints::with_entries(uint32_t variable, Value guess) const {
  if (!guess.is(Value::Kind::Ints)) return guess;
  for (auto [position, number] : values_[variable].entries) {
    in_.values[variable] = symbols_.value(guess); // entries may depend on each other
    std::optional<int64_t> at = int_of(position), n = int_of(number);
    in_.values[variable] = ValueId{};
    if (at && *at < 0) *at += static_cast<int64_t>(guess.ints.size());
    if (at && n && *at >= 0 && *at < static_cast<int64_t>(guess.ints.size()))
      guess.ints[static_cast<size_t>(*at)] = *n;
  }
  return guess;
}

std::optional<Value> RuleHints::value_of(ExprIndex at) const {
  std::optional<ValueId> id = evaluate({rule_, symbols_, in_.values, in_}, at);
  if (!id) return std::nullopt;
  return symbols_.value(*id);
}

std::optional<int64_t> RuleHints::int_of(ExprIndex at) const {
  std::optional<Value> v = value_of(at);
  if (!v || !v->is(Value::Kind::Int)) return std::nullopt;
  return v->number;
}

} // namespace tg
