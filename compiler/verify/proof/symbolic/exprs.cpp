#include "compiler/verify/proof/symbolic/exprs.h"

namespace tg::proof {

using Kind = ValueExpr::Kind;

std::optional<Attr> literal(const tg::Value& value) {
  switch (value.kind) {
  case tg::Value::Kind::Int: return Attr::of(Poly(value.number));
  case tg::Value::Kind::Ints: {
    std::vector<Poly> ns;
    for (int64_t n : value.ints) ns.push_back(n);
    return Attr::of(std::move(ns));
  }
  case tg::Value::Kind::Enum: return Attr::member(value.text);
  case tg::Value::Kind::Bool: return Attr{Attr::Kind::Bool, 0, {}, "", value.number != 0, {}};
  case tg::Value::Kind::Float:
  case tg::Value::Kind::Floats: {
    if (value.is(tg::Value::Kind::Floats) && value.reals.size() != 1) return std::nullopt;
    double real = value.is(tg::Value::Kind::Float) ? value.real : value.reals[0];
    Ratio ratio = ratio_of(real);
    if (!ratio.valid) return std::nullopt;
    return Attr::of_number(Sums::number(ratio));
  }
  case tg::Value::Kind::Type: {
    std::vector<Poly> ns;
    for (int64_t n : value.ints) ns.push_back(n);
    return Attr{Attr::Kind::Shape, 0, std::move(ns), "", false, {}};
  }
  default: return std::nullopt;
  }
}

std::optional<Attr> Exprs::evaluate(ExprIndex at) {
  const ValueExpr& e = rule_.exprs[at];
  if (facts_.halted()) return std::nullopt;
  switch (e.kind) {
  case Kind::Literal: return literal(e.literal);
  case Kind::Variable: return known_.value(e.variable);
  case Kind::Rank:
  case Kind::ShapeOf:
  case Kind::Dim: return question(e);
  case Kind::List: return list(e);
  case Kind::Index: return item(e);
  case Kind::Len: {
    std::optional<Attr> list = evaluate(e.operands[0]);
    if (!list || list->kind != Attr::Kind::Ints) return std::nullopt;
    return Attr::of(Poly(static_cast<int64_t>(list->ns.size())));
  }
  case Kind::Permute: return permuted(e);
  case Kind::Floats: return number(e);
  case Kind::TypeLike: {
    std::optional<Attr> shape = evaluate(e.operands[0]);
    if (!shape || shape->kind != Attr::Kind::Ints) return std::nullopt;
    shape->kind = Attr::Kind::Shape;
    return shape;
  }
  default: return e.operands.empty() ? std::nullopt : arithmetic(e);
  }
}

/// Evaluates rank, shape and dim of a tensor; an absent one has none.
std::optional<Attr> Exprs::question(const ValueExpr& e) {
  std::optional<Attr> which;
  if (e.kind == Kind::Dim) {
    which = evaluate(e.operands[0]);
    if (!which || which->kind != Attr::Kind::Int) return std::nullopt;
  }
  const Tensor& x = known_.tensor(e.variable);
  if (x.none) return facts_.stop(Outcome::Impossible), std::nullopt;
  if (e.kind == Kind::Rank) return Attr::of(x.rank());
  if (e.kind == Kind::ShapeOf) return x.packed ? std::nullopt : std::optional(Attr::of(x.dims));
  std::optional<size_t> named = axis(facts_, which->n, x);
  return named ? std::optional(Attr::of(x.dims[*named])) : std::nullopt;
}

std::optional<Attr> Exprs::list(const ValueExpr& e) {
  std::vector<Poly> ns;
  for (ExprIndex operand : e.operands) {
    std::optional<Attr> n = evaluate(operand);
    if (!n || n->kind != Attr::Kind::Int) return std::nullopt;
    ns.push_back(n->n);
  }
  return Attr::of(std::move(ns));
}

std::optional<Attr> Exprs::item(const ValueExpr& e) {
  std::optional<Attr> list = evaluate(e.operands[0]), i = evaluate(e.operands[1]);
  if (list && list->kind == Attr::Kind::Text) // pad = same has no first number
    return facts_.stop(Outcome::Impossible), std::nullopt;
  if (!list || !i || list->kind != Attr::Kind::Ints || i->kind != Attr::Kind::Int)
    return std::nullopt;
  std::optional<int64_t> n = constant(i->n);
  int64_t size = static_cast<int64_t>(list->ns.size());
  if (n && *n < 0) *n += size;
  if (!n || *n < 0 || *n >= size) return facts_.stop(Outcome::Impossible), std::nullopt;
  return Attr::of(list->ns[static_cast<size_t>(*n)]);
}

std::optional<Attr> Exprs::permuted(const ValueExpr& e) {
  std::optional<Attr> p = evaluate(e.operands[0]), q = evaluate(e.operands[1]);
  if (!p || !q || p->ns.size() != q->ns.size()) return std::nullopt;
  std::vector<Poly> ns;
  for (const Poly& from : p->ns) {
    std::optional<int64_t> i = constant(from);
    if (!i || *i < 0 || *i >= static_cast<int64_t>(q->ns.size())) return std::nullopt;
    ns.push_back(q->ns[static_cast<size_t>(*i)]);
  }
  return Attr::of(std::move(ns));
}

/// Returns the only value of a constant.
std::optional<Attr> Exprs::number(const ValueExpr& e) {
  if (e.operands.size() != 1) return std::nullopt;
  std::optional<Attr> n = evaluate(e.operands[0]);
  if (n && n->kind == Attr::Kind::Int)
    if (std::optional<int64_t> whole = constant(n->n))
      return Attr::of_number(Sums::number(Ratio{*whole}));
  return n && n->kind == Attr::Kind::Number ? n : std::nullopt;
}

/// Evaluates an operation on two numbers, or the concatenation of lists.
std::optional<Attr> Exprs::arithmetic(const ValueExpr& e) {
  std::optional<Attr> a = evaluate(e.operands[0]);
  std::optional<Attr> b = e.operands.size() > 1 ? evaluate(e.operands[1]) : a;
  bool lists = a && b && a->kind == Attr::Kind::Ints && b->kind == Attr::Kind::Ints;
  if (lists && e.kind == Kind::Add) {
    a->ns.insert(a->ns.end(), b->ns.begin(), b->ns.end());
    return a;
  }
  if (!a || !b || a->kind != Attr::Kind::Int || b->kind != Attr::Kind::Int) return std::nullopt;
  return integers(e.kind, a->n, b->n);
}

std::optional<Attr> Exprs::integers(Kind kind, const Poly& a, const Poly& b) {
  switch (kind) {
  case Kind::Range: { // a range of axes has constant ends
    std::optional<int64_t> from = constant(a), to = constant(b);
    if (!from || !to) return std::nullopt;
    std::vector<Poly> ns;
    for (int64_t i = *from; i < *to; ++i) ns.emplace_back(i);
    return Attr::of(std::move(ns));
  }
  case Kind::Add: return Attr::of(a + b);
  case Kind::Sub: return Attr::of(a - b);
  case Kind::Mul: return Attr::of(a * b);
  case Kind::Neg: return Attr::of(Poly(0) - a);
  case Kind::Div: {
    Poly quotient = facts_.arith().fresh_poly(std::nullopt);
    facts_.must_equal(quotient * b, a);
    return Attr::of(facts_.arith().normal(quotient));
  }
  case Kind::FloorDiv: {
    std::optional<int64_t> by = constant(b);
    if (!by || *by <= 0) return std::nullopt;
    Poly quotient = facts_.arith().fresh_poly(std::nullopt);
    facts_.must(at_least(a, quotient * Poly(*by)));
    facts_.must(less(a, quotient * Poly(*by) + Poly(*by)));
    return Attr::of(quotient);
  }
  default: return std::nullopt;
  }
}

} // namespace tg::proof
