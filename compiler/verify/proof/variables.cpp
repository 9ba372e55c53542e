#include "compiler/verify/proof/variables.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

namespace {

using Kind = ValueExpr::Kind;

constexpr size_t kRanks = 9; // 0 to 8, all valid ranks (kMaxRank)
static_assert(kMaxRank == 8);

} // namespace

Variables::Variables(const Rule& rule, const Ranks& ranks, std::optional<size_t> named,
                     Facts& facts)
    : rule_(rule), ranks_(ranks), named_(named), facts_(facts), exprs_(rule, *this, facts),
      tensors_(rule.class_vars), values_(rule.value_vars), assumed_(rule.conditions.size()),
      may_be_absent_(rule.class_vars) {
  for (const Term& term : rule.terms) {
    if (term.kind != Term::Kind::Op || op_info(term.op).variadic()) continue;
    for (size_t i = 0; i < term.operands.size(); ++i)
      if (const Term& operand = rule.terms[term.operands[i]];
          op_info(term.op).operands()[i].optional && operand.kind == Term::Kind::ClassVar)
        may_be_absent_[operand.variable] = true;
  }
}

// --- tensors ----------------------------------------------------------------------------------

bool Variables::apply_equality(uint32_t v, Tensor& type) {
  for (ExprIndex condition : rule_.conditions) {
    const ValueExpr& e = rule_.exprs[condition];
    if (e.kind != Kind::Eq) continue;
    const ValueExpr &a = rule_.exprs[e.operands[0]], &b = rule_.exprs[e.operands[1]];
    if (a.kind != b.kind || (a.kind != Kind::Rank && a.kind != Kind::ShapeOf)) continue;
    uint32_t other = a.variable == v ? b.variable : a.variable;
    if ((a.variable != v && b.variable != v) || other == v || !tensors_[other]) continue;
    type = *tensors_[other];
    if (type.none || (type.packed && a.kind == Kind::ShapeOf)) return false;
    if (a.kind == Kind::Rank) {
      for (Poly& dim : type.dims) dim = facts_.arith().fresh_poly(1);
      if (type.packed) type.count = facts_.arith().fresh_poly(1);
    }
    return true;
  }
  return false;
}

const Tensor& Variables::tensor(uint32_t v) {
  if (tensors_[v]) return *tensors_[v];
  Tensor type;
  if (apply_equality(v, type)) {
    bind(v, std::move(type));
  } else if (std::optional<size_t> rank = ranks_.variables[v]) {
    bind(v, fresh_tensor(facts_.arith(), *rank));
  } else {
    size_t ranks = named_ ? *named_ + 1 : kRanks;
    size_t choice = facts_.choose(ranks + may_be_absent_[v]);
    if (choice == ranks) {
      type.none = true;
    } else {
      type = fresh_tensor(facts_.arith(), choice);
      type.packed = named_ && choice == *named_;
      if (type.packed) {
        type.extra = facts_.arith().fresh_poly(0);
        type.count = facts_.arith().fresh_poly(1);
      }
    }
    bind(v, std::move(type));
  }
  return *tensors_[v];
}

void Variables::bind(uint32_t v, Tensor type) {
  tensors_[v] = std::move(type);
  try_conditions();
}

// --- values -----------------------------------------------------------------------------------

void Variables::take_from_conditions(uint32_t v) {
  for (ExprIndex condition : rule_.conditions) {
    const ValueExpr& e = rule_.exprs[condition];
    if (e.kind != Kind::Eq) continue;
    for (size_t side : {0, 1}) {
      const ValueExpr& me = rule_.exprs[e.operands[side]];
      if (me.kind != Kind::Variable || me.variable != v || !bound_all(e.operands[1 - side]))
        continue;
      if (std::optional<Attr> value = evaluate(e.operands[1 - side]); value && !values_[v])
        values_[v] = value;
    }
  }
}

// --- conditions -------------------------------------------------------------------------------

bool Variables::bound_all(ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  switch (e.kind) {
  case Kind::Variable: return values_[e.variable].has_value();
  case Kind::SameType: return tensors_[e.variable].has_value() && tensors_[e.variable2].has_value();
  case Kind::Rank:
  case Kind::ShapeOf:
  case Kind::TypeLike:
  case Kind::IsNone:
  case Kind::Dim:
    if (!tensors_[e.variable]) return false;
    break;
  default: break;
  }
  return llvm::all_of(e.operands, [&](ExprIndex operand) { return bound_all(operand); });
}

void Variables::try_conditions() {
  for (size_t i = 0; i < rule_.conditions.size() && !facts_.halted(); ++i)
    if (!assumed_[i] && bound_all(rule_.conditions[i])) {
      assumed_[i] = true;
      assume_condition(rule_.conditions[i], true);
    }
}

/// Assumes a condition; returns false if it is not supported.
bool Variables::assume_condition(ExprIndex at, bool truth) {
  const ValueExpr& e = rule_.exprs[at];
  auto sub = [&](size_t i) { return e.operands[i]; };
  switch (e.kind) {
  case Kind::Not: return assume_condition(sub(0), !truth);
  case Kind::And:
  case Kind::Or: {
    if ((e.kind == Kind::And) == truth)
      return assume_condition(sub(0), truth) & assume_condition(sub(1), truth);
    return assume_condition(sub(facts_.choose(2)), truth);
  }
  case Kind::IsNone:
    if (tensors_[e.variable]->none != truth) facts_.stop(Outcome::Impossible);
    return true;
  case Kind::Eq:
  case Kind::Ne:
  case Kind::Lt:
  case Kind::Le:
  case Kind::Gt:
  case Kind::Ge: return assume_comparison(e, truth);
  default: return false;
  }
}

bool Variables::assume_comparison(const ValueExpr& e, bool truth) {
  std::optional<Attr> a = evaluate(e.operands[0]), b = evaluate(e.operands[1]);
  if (!a || !b) return false;
  bool equality = e.kind == Kind::Eq || e.kind == Kind::Ne;
  bool same = (e.kind == Kind::Eq) == truth;
  // An enumerator (pad = valid) is not a list.
  auto mixed = [](const Attr& x, const Attr& y) {
    return x.kind == Attr::Kind::Text && y.kind == Attr::Kind::Ints;
  };
  if (equality && same && (mixed(*a, *b) || mixed(*b, *a)))
    return facts_.stop(Outcome::Impossible), true;
  if (a->kind != b->kind) return false;
  // It is open whether an arbitrary enumerator is this one.
  if ((a->any() || b->any()) && a->text != b->text) return false;
  if (a->kind == Attr::Kind::Text && equality) {
    if ((a->text == b->text) != same) facts_.stop(Outcome::Impossible);
    return true;
  }
  if (a->kind == Attr::Kind::Ints && equality && same) {
    if (a->ns.size() != b->ns.size()) facts_.stop(Outcome::Impossible);
    for (size_t i = 0; i < a->ns.size() && !facts_.halted(); ++i)
      facts_.must_equal(a->ns[i], b->ns[i]);
    return true;
  }
  if (a->kind != Attr::Kind::Int) return false;
  Fact fact = proof::equal(a->n, b->n);
  if (e.kind == Kind::Ne) fact.kind = Fact::Kind::Ne;
  if (e.kind == Kind::Lt) fact = less(a->n, b->n);
  if (e.kind == Kind::Le) fact = at_least(b->n, a->n);
  if (e.kind == Kind::Gt) fact = less(b->n, a->n);
  if (e.kind == Kind::Ge) fact = at_least(a->n, b->n);
  facts_.must(truth ? fact : negated(fact));
  return true;
}

} // namespace tg::proof
