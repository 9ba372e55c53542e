#include "compiler/equiv/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

namespace {

using Kind = ValueExpr::Kind;

constexpr size_t kRanks = 9; // 0 to 8, all that there are (kMaxRank)
static_assert(kMaxRank == 8);

} // namespace

Case::Case(const Rule& rule, const Ranks& ranks, Choices& choices, std::optional<size_t> named,
           std::shared_ptr<Solver> solver, size_t budget)
    : rule_(rule), dtypes_(rule), ranks_(ranks), choices_(choices), named_(named),
      arith_(std::move(solver), budget), sums_(arith_), variables_(rule.class_vars),
      types_(rule.terms.size()), values_(rule.value_vars), attributes_(rule.terms.size()),
      assumed_(rule.conditions.size()), may_be_absent_(rule.class_vars) {
  for (const Term& term : rule.terms) {
    if (term.kind != Term::Kind::Op || op_info(term.op).variadic()) continue;
    for (size_t i = 0; i < term.operands.size(); ++i)
      if (const Term& operand = rule.terms[term.operands[i]];
          op_info(term.op).operands()[i].optional && operand.kind == Term::Kind::ClassVar)
        may_be_absent_[operand.variable] = true;
  }
}

/// Types, then values. All that a case may take for granted is assumed before values are compared:
/// the engine applies a rule only where both sides are typed, alike, and conditions hold.
Case::Outcome Case::run() {
  type_plain();
  for (TermId root : rule_.lhs) type(root);
  try_conditions();
  for (size_t i = 0; i < rule_.rhs.size() && !halted(); ++i) {
    Tensor left = type(rule_.lhs[i]), right = type(rule_.rhs[i]);
    if (halted()) break;
    must_be_as_many(left, right);
    for (size_t axis = 0; axis < left.dims.size() && !halted(); ++axis)
      must_equal(left.dims[axis], right.dims[axis]);
  }
  try_conditions();
  join_windows();
  if (!halted() && !arith_.consistent()) stop(Outcome::Impossible);
  for (size_t i = 0; i < rule_.rhs.size() && !halted(); ++i) compare(i);
  if (arith_.exhausted() || sums_.overflowed()) return Outcome::Unproved;
  return stop_;
}

// --- choices ---------------------------------------------------------------------------------

void Case::beyond(OpKind op) {
  const OpInfo& info = op_info(op);
  beyond("the operator " + std::string(info.name) +
         (info.has(Trait::Rational) ? ", of which proofs know nothing" : ", no sum of products"));
}

bool Case::has_bound(const Poly& p) const {
  Poly known = arith_.normal(p);
  for (const auto& term : known.terms())
    for (Sym s : term.first)
      if (s < bound_.size() && bound_[s]) return true;
  return false;
}

/// Whether it holds in this case. What does not follow is chosen, and assumed.
bool Case::decide(const Fact& fact) {
  if (halted()) return true;
  if (arith_.follows(fact)) return true;
  if (arith_.follows(negated(fact))) return false;
  if (has_bound(fact.p)) return beyond("a case that depends on the terms of a sum"), true;
  bool yes = choices_.choose(2) == 0;
  arith_.assume(yes ? fact : negated(fact));
  return yes;
}

void Case::must(const Fact& fact) {
  if (halted()) return;
  if (arith_.follows(negated(fact))) return stop(Outcome::Impossible);
  arith_.assume(fact);
}

/// Two types that the engine wants alike. Axes without names may make up for those that one lacks.
void Case::must_be_as_many(const Tensor& a, const Tensor& b) {
  size_t m = a.dims.size(), n = b.dims.size();
  if (m == n) return;
  bool made_up = (a.packed && m < n) || (b.packed && n < m);
  if (made_up) return beyond("axes with names beside axes without");
  stop(Outcome::Impossible);
}

Tensor Case::fresh_tensor(size_t rank) {
  Tensor type;
  for (size_t i = 0; i < rank; ++i) type.dims.push_back(arith_.fresh_poly(1));
  return type;
}

/// Sides are typed together, in whatever order: a case is what both admit. Attributes are bound by
/// the left side alone, whose slots say what they may be.
void Case::type_plain() {
  for (const Ranks::Plain& plain : ranks_.plain) {
    if (halted()) return;
    if (llvm::all_of(plain.values, [&](uint32_t v) { return values_[v].has_value(); }))
      type(plain.term);
  }
}

/// shape(x) == shape(y), rank(x) == rank(y), where the other is known.
bool Case::like_another(uint32_t v, Tensor& type) {
  for (ExprIndex condition : rule_.conditions) {
    const ValueExpr& e = rule_.exprs[condition];
    if (e.kind != Kind::Eq) continue;
    const ValueExpr &a = rule_.exprs[e.operands[0]], &b = rule_.exprs[e.operands[1]];
    if (a.kind != b.kind || (a.kind != Kind::Rank && a.kind != Kind::ShapeOf)) continue;
    uint32_t other = a.variable == v ? b.variable : a.variable;
    if ((a.variable != v && b.variable != v) || other == v || !variables_[other]) continue;
    type = *variables_[other];
    if (type.none || (type.packed && a.kind == Kind::ShapeOf)) return false;
    if (a.kind == Kind::Rank) {
      for (Poly& dim : type.dims) dim = arith_.fresh_poly(1);
      if (type.packed) type.count = arith_.fresh_poly(1);
    }
    return true;
  }
  return false;
}

const Tensor& Case::variable(uint32_t v) {
  if (variables_[v]) return *variables_[v];
  Tensor type;
  if (like_another(v, type)) {
    bind(v, std::move(type));
  } else if (std::optional<size_t> rank = ranks_.variables[v]) {
    bind(v, fresh_tensor(*rank));
  } else {
    size_t ranks = named_ ? *named_ + 1 : kRanks;
    size_t choice = choices_.choose(ranks + may_be_absent_[v]);
    if (choice == ranks) {
      type.none = true;
    } else {
      type = fresh_tensor(choice);
      type.packed = named_ && choice == *named_;
      if (type.packed) {
        type.extra = arith_.fresh_poly(0);
        type.count = arith_.fresh_poly(1);
      }
    }
    bind(v, std::move(type));
  }
  return *variables_[v];
}

void Case::bind(uint32_t v, Tensor type) {
  variables_[v] = std::move(type);
  try_conditions();
}

// --- conditions ------------------------------------------------------------------------------

bool Case::bound_all(ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  switch (e.kind) {
  case Kind::Variable: return values_[e.variable].has_value();
  case Kind::SameType:
    return variables_[e.variable].has_value() && variables_[e.variable2].has_value();
  case Kind::Rank:
  case Kind::ShapeOf:
  case Kind::TypeLike:
  case Kind::IsNone:
  case Kind::Dim:
    if (!variables_[e.variable]) return false;
    break;
  default: break;
  }
  return llvm::all_of(e.operands, [&](ExprIndex operand) { return bound_all(operand); });
}

/// Assumes what can be assumed by now. A condition that is not understood is not assumed: then more
/// is proved than the rule says.
void Case::try_conditions() {
  for (size_t i = 0; i < rule_.conditions.size() && !halted(); ++i)
    if (!assumed_[i] && bound_all(rule_.conditions[i])) {
      assumed_[i] = true;
      assume_condition(rule_.conditions[i], true);
    }
}

/// False where it is not understood.
bool Case::assume_condition(ExprIndex at, bool truth) {
  const ValueExpr& e = rule_.exprs[at];
  auto sub = [&](size_t i) { return e.operands[i]; };
  switch (e.kind) {
  case Kind::Not: return assume_condition(sub(0), !truth);
  case Kind::And:
  case Kind::Or: {
    if ((e.kind == Kind::And) == truth)
      return assume_condition(sub(0), truth) & assume_condition(sub(1), truth);
    return assume_condition(sub(choices_.choose(2)), truth);
  }
  case Kind::IsNone:
    if (variables_[e.variable]->none != truth) stop(Outcome::Impossible);
    return true;
  case Kind::Eq:
  case Kind::Ne:
  case Kind::Lt:
  case Kind::Le:
  case Kind::Gt:
  case Kind::Ge: break;
  default: return false;
  }
  std::optional<Attr> a = evaluate(sub(0)), b = evaluate(sub(1));
  if (!a || !b) return false;
  bool equality = e.kind == Kind::Eq || e.kind == Kind::Ne;
  bool same = (e.kind == Kind::Eq) == truth;
  // A member of an enumeration (pad = valid) is no list.
  auto mixed = [](const Attr& x, const Attr& y) {
    return x.kind == Attr::Kind::Text && y.kind == Attr::Kind::Ints;
  };
  if (equality && same && (mixed(*a, *b) || mixed(*b, *a))) return stop(Outcome::Impossible), true;
  if (a->kind != b->kind) return false;
  // Whether a member that may be any is this one is open.
  if ((a->any() || b->any()) && a->text != b->text) return false;
  if (a->kind == Attr::Kind::Text && equality) {
    if ((a->text == b->text) != same) stop(Outcome::Impossible);
    return true;
  }
  if (a->kind == Attr::Kind::Ints && equality && same) {
    if (a->ns.size() != b->ns.size()) stop(Outcome::Impossible);
    for (size_t i = 0; i < a->ns.size() && !halted(); ++i) must_equal(a->ns[i], b->ns[i]);
    return true;
  }
  if (a->kind != Attr::Kind::Int) return false;
  Fact fact = proof::equal(a->n, b->n);
  if (e.kind == Kind::Ne) fact.kind = Fact::Kind::Ne;
  if (e.kind == Kind::Lt) fact = less(a->n, b->n);
  if (e.kind == Kind::Le) fact = at_least(b->n, a->n);
  if (e.kind == Kind::Gt) fact = less(b->n, a->n);
  if (e.kind == Kind::Ge) fact = at_least(a->n, b->n);
  must(truth ? fact : negated(fact));
  return true;
}

} // namespace tg::proof
