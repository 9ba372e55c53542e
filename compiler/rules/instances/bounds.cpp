#include "compiler/rules/instances/bounds.h"

#include "compiler/rules/instances/kinds.h"
#include "compiler/rules/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <numeric>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;
using Number = RuleBounds::Number;
using Range = RuleBounds::Range;

constexpr Number kUnbounded = RuleBounds::kUnbounded;
constexpr Number kLargestFactor = Number(1) << 40; // limit for polynomials in arithmetic
constexpr size_t kLargestPoly = 64, kMostFacts = 400;
constexpr int kRounds = 12;    // of propagation
constexpr int kCancelled = 2;  // terms of a polynomial, one after the other
constexpr int64_t kPowers = 8; // exponents up to this are expanded

Number clamped(Number n) { return std::clamp(n, -kUnbounded, kUnbounded); }
Number floor_div(Number a, Number b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
Number ceil_div(Number a, Number b) { return -floor_div(-a, b); }
Number magnitude(Number n) { return n < 0 ? -n : n; }

Range sum_of(Range a, Range b) {
  const bool below = a.low == -kUnbounded || b.low == -kUnbounded,
             above = a.high == kUnbounded || b.high == kUnbounded;
  return {below ? -kUnbounded : clamped(a.low + b.low),
          above ? kUnbounded : clamped(a.high + b.high)};
}

Range product_of(Range a, Range b) {
  const Number ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {clamped(*std::min_element(std::begin(ends), std::end(ends))),
          clamped(*std::max_element(std::begin(ends), std::end(ends)))};
}

template <class Poly> bool is_constant(const Poly& p) {
  return p.empty() || (p.size() == 1 && p.begin()->first.empty());
}
template <class Poly> Number constant_of(const Poly& p) {
  auto at = p.find({});
  return at == p.end() ? 0 : at->second;
}
template <class Poly> Poly number(Number n) { return n == 0 ? Poly() : Poly{{{}, n}}; }

/// Returns a + times * b.
template <class Poly> Poly added(Poly a, const Poly& b, Number times = 1) {
  for (const auto& [monomial, factor] : b)
    if ((a[monomial] += times * factor) == 0) a.erase(monomial);
  return a;
}

template <class Poly> Poly multiplied(const Poly& a, const Poly& b) {
  Poly result;
  for (const auto& [m, x] : a)
    for (const auto& [n, y] : b) {
      auto both = m;
      both.insert(both.end(), n.begin(), n.end());
      std::sort(both.begin(), both.end());
      if ((result[both] += x * y) == 0) result.erase(both);
    }
  return result;
}

/// Returns true if arithmetic with it cannot overflow.
template <class Poly> bool small(const Poly& p) {
  return p.size() <= kLargestPoly &&
         llvm::all_of(p, [](const auto& term) { return magnitude(term.second) <= kLargestFactor; });
}

std::optional<int64_t> literal(const Rule& rule, ExprIndex at) {
  const ValueExpr& e = rule.exprs[at];
  if (e.kind == Kind::Neg) {
    std::optional<int64_t> n = literal(rule, e.operands[0]);
    return n && *n != INT64_MIN ? std::optional(-*n) : std::nullopt;
  }
  bool whole = e.kind == Kind::Literal && e.literal.is(Value::Kind::Int);
  return whole ? std::optional(e.literal.number) : std::nullopt;
}

Kind opposite(Kind comparison) {
  switch (comparison) {
  case Kind::Eq: return Kind::Ne;
  case Kind::Ne: return Kind::Eq;
  case Kind::Lt: return Kind::Ge;
  case Kind::Le: return Kind::Gt;
  case Kind::Gt: return Kind::Le;
  default: return Kind::Lt;
  }
}

} // namespace

RuleBounds::RuleBounds(const Rule& rule)
    : rule_(rule), kinds_(attribute_kinds(rule)), same_type_(rule.class_vars) {
  std::iota(same_type_.begin(), same_type_.end(), 0);
  for (bool types : {true, false}) // equal types must be known before sizes are named
    for (ExprIndex condition : rule.conditions) add_condition(condition, /*negated=*/false, types);
  add_products();
}

// --- facts -------------------------------------------------------------------------------------

uint32_t RuleBounds::tensor(uint32_t variable) const {
  while (same_type_[variable] != variable) variable = same_type_[variable];
  return variable;
}

/// With `types`, notes tensors of equal types, and ranks; otherwise comparisons of integers.
void RuleBounds::add_condition(ExprIndex at, bool negated, bool types) {
  const ValueExpr& e = rule_.exprs[at];
  if (e.kind == (negated ? Kind::Or : Kind::And)) {
    for (ExprIndex operand : e.operands) add_condition(operand, negated, types);
    return;
  }
  if (e.kind == Kind::Not) return add_condition(e.operands[0], !negated, types);
  if (types && e.kind == Kind::SameType && !negated)
    same_type_[tensor(e.variable)] = tensor(e.variable2);
  if (e.kind < Kind::Eq || e.kind > Kind::Ge) return;
  const Kind comparison = negated ? opposite(e.kind) : e.kind;
  if (types) {
    const ValueExpr& left = rule_.exprs[e.operands[0]];
    std::optional<int64_t> n = literal(rule_, e.operands[1]);
    if (comparison == Kind::Eq && left.kind == Kind::Rank && n) ranks_[left.variable] = *n;
    return;
  }
  MaybePoly a = poly(e.operands[0]), b = poly(e.operands[1]);
  if (!a || !b) return;
  const Poly up = added(*b, *a, -1), down = added(*a, *b, -1); // b - a, a - b
  if (comparison == Kind::Eq) return equal(*a, *b);
  if (comparison == Kind::Le) fact(up);
  if (comparison == Kind::Lt) fact(added(up, number<Poly>(-1)));
  if (comparison == Kind::Ge) fact(down);
  if (comparison == Kind::Gt) fact(added(down, number<Poly>(-1)));
}

/// Adds facts that the inner sizes of a matrix product are equal.
void RuleBounds::add_products() {
  auto matrix = [&](TermId id) -> std::optional<uint32_t> {
    const Term* term = &rule_.terms[id];
    while (term->kind == Term::Kind::Op && (op_info(term->op).traits & Trait::Pointwise) &&
           term->operands.size() == 1)
      term = &rule_.terms[term->operands[0]];
    bool known = term->kind == Term::Kind::ClassVar && rank_of(term->variable) == 2;
    return known ? std::optional(term->variable) : std::nullopt;
  };
  for (const Term& term : rule_.terms) {
    if (term.kind != Term::Kind::Op || term.op != OpKind::Matmul) continue;
    std::optional<uint32_t> x = matrix(term.operands[0]), w = matrix(term.operands[1]);
    if (x && w) equal(dim(*x, 1), dim(*w, 0));
  }
}

std::optional<int64_t> RuleBounds::rank_of(uint32_t variable) const {
  for (const auto& [known, rank] : ranks_)
    if (tensor(known) == tensor(variable)) return rank;
  return std::nullopt;
}

void RuleBounds::fact(Poly p) {
  if (is_constant(p) || !small(p) || facts_.size() >= kMostFacts) return;
  facts_.push_back(std::move(p));
  changed_ = true;
}

void RuleBounds::equal(const Poly& a, const Poly& b) {
  fact(added(a, b, -1));
  fact(added(b, a, -1));
}

void RuleBounds::propagate() {
  for (int round = 0; changed_ && round < kRounds; ++round) {
    changed_ = false;
    for (const Poly& p : facts_)
      for (const auto& [monomial, factor] : p) {
        if (monomial.size() != 1) continue;
        Poly rest = p;
        rest.erase(monomial);
        const Number most = interval(rest).high; // factor * atom >= -most
        Range& range = ranges_[monomial[0]];
        if (most == kUnbounded) continue;
        const Range before = range;
        if (factor > 0)
          range.low = std::max(range.low, clamped(ceil_div(-most, factor)));
        else
          range.high = std::min(range.high, clamped(floor_div(most, -factor)));
        changed_ |= range.low != before.low || range.high != before.high;
      }
  }
  changed_ = false;
}

// --- expressions as polynomials ----------------------------------------------------------------

RuleBounds::Poly RuleBounds::atom(const std::string& key, Range range) {
  auto known = llvm::find(keys_, key);
  const auto at = static_cast<Atom>(known - keys_.begin());
  if (known == keys_.end()) {
    keys_.push_back(key);
    ranges_.push_back(range);
    changed_ = true;
  }
  return {{{at}, 1}};
}

std::string RuleBounds::key(const Poly& p) const {
  std::string text;
  for (const auto& [monomial, factor] : p) {
    text += std::to_string(static_cast<int64_t>(factor));
    for (Atom at : monomial) text += "*" + std::to_string(at);
    text += "+";
  }
  return text;
}

RuleBounds::MaybePoly RuleBounds::poly(ExprIndex at) {
  const ValueExpr& e = rule_.exprs[at];
  if (e.kind == Kind::Literal)
    return e.literal.is(Value::Kind::Int) ? MaybePoly(number<Poly>(e.literal.number))
                                          : std::nullopt;
  if (e.kind == Kind::Variable) {
    const std::optional<AttrKind> kind = kinds_[e.variable];
    if (kind == AttrKind::axis) return atom(expr_text(rule_, at), {0, kMaxRank - 1});
    return kind == AttrKind::integer ? MaybePoly(atom(expr_text(rule_, at), {})) : std::nullopt;
  }
  if (e.kind == Kind::Rank) {
    if (std::optional<int64_t> rank = rank_of(e.variable)) return number<Poly>(*rank);
    return atom("rank " + std::to_string(tensor(e.variable)), {0, kMaxRank});
  }
  if (e.kind == Kind::Dim) {
    std::optional<int64_t> axis = literal(rule_, e.operands[0]);
    return axis ? dim(e.variable, *axis) : atom(expr_text(rule_, at), {1, kUnbounded});
  }
  MaybePoly result;
  if (e.kind == Kind::Index)
    result = entry(at);
  else if (e.kind == Kind::Len || e.kind == Kind::Sum || e.kind == Kind::Prod)
    result = of_list(at);
  else if (e.is_operation())
    result = operation(e);
  return result && small(*result) ? result : std::nullopt;
}

RuleBounds::Poly RuleBounds::dim(uint32_t variable, int64_t axis) {
  std::optional<int64_t> rank = rank_of(variable);
  if (axis < 0 && rank) axis += *rank;
  return atom("dim " + std::to_string(tensor(variable)) + " " + std::to_string(axis),
              {1, kUnbounded});
}

RuleBounds::MaybePoly RuleBounds::operation(const ValueExpr& e) {
  MaybePoly a = poly(e.operands[0]);
  if (!a) return std::nullopt;
  switch (e.kind) {
  case Kind::Neg: return added({}, *a, -1);
  case Kind::Abs: return chosen(*a, added({}, *a, -1), /*larger=*/true);
  case Kind::Floor:
  case Kind::Ceil:
  case Kind::Int: return a;
  default: break;
  }
  if (e.operands.size() != 2) return std::nullopt;
  MaybePoly b = poly(e.operands[1]);
  if (!b) return std::nullopt;
  switch (e.kind) {
  case Kind::Add: return added(*a, *b);
  case Kind::Sub: return added(*a, *b, -1);
  case Kind::Mul: return multiplied(*a, *b);
  case Kind::Min:
  case Kind::Max: return chosen(*a, *b, e.kind == Kind::Max);
  case Kind::Div: // division with a remainder has no value, which a condition may allow
  case Kind::FloorDiv:
  case Kind::Mod: return divided(*a, *b, e.kind != Kind::Mod);
  case Kind::Pow: return power(*a, *b);
  default: return std::nullopt;
  }
}

RuleBounds::Poly RuleBounds::power(const Poly& base, const Poly& exponent) {
  if (is_constant(exponent) && constant_of(exponent) >= 0 && constant_of(exponent) <= kPowers) {
    Poly result = number<Poly>(1);
    for (Number i = 0; i < constant_of(exponent) && small(result); ++i)
      result = multiplied(result, base);
    return result;
  }
  const bool zero = base.empty();
  const Number least_exponent = least(exponent, kCancelled), least_base = least(base, kCancelled);
  Range range;
  if (zero)
    range = {0, least_exponent > 0 ? 0 : 1}; // 0 ** 0 is 1
  else if (least_base >= 0)
    range = {least_base > 0 ? 1 : 0, kUnbounded};
  return atom("(" + key(base) + ")**(" + key(exponent) + ")", range);
}

/// Returns the quotient, rounded down, or the remainder.
RuleBounds::Poly RuleBounds::divided(const Poly& a, const Poly& b, bool quotient) {
  if (a == b) return number<Poly>(quotient ? 1 : 0); // a division by zero has no value
  Poly whole, rest = a;                              // a = whole * b + rest
  if (is_constant(b) && !b.empty())
    for (const auto& [monomial, factor] : a) {
      const Number times = floor_div(factor, constant_of(b));
      if (monomial.empty() ? times == 0 : factor % constant_of(b) != 0) continue;
      whole = added(whole, Poly{{monomial, times}});
      rest = added(rest, Poly{{monomial, times * constant_of(b)}}, -1);
    }
  if (rest.empty()) return quotient ? whole : rest;
  const std::string name = "(" + key(rest) + ")(" + key(b) + ")";
  const size_t known = keys_.size();
  Poly q = atom("//" + name, {}), r = atom("%" + name, {});
  if (keys_.size() > known) {
    equal(rest, added(multiplied(q, b), r));
    propagate();
    if (least(added(b, number<Poly>(-1)), kCancelled) >= 0) { // b > 0
      fact(r);
      fact(added(added(b, r, -1), number<Poly>(-1)));
      if (least(rest, kCancelled) >= 0) fact(q), fact(added(rest, r, -1)), fact(added(rest, q, -1));
    }
  }
  return quotient ? added(whole, q) : r;
}

/// Returns the minimum or the maximum.
RuleBounds::Poly RuleBounds::chosen(const Poly& a, const Poly& b, bool larger) {
  propagate();
  const Poly gap = added(a, b, -1);
  if (least(gap, kCancelled) >= 0) return larger ? a : b;
  if (least(added({}, gap, -1), kCancelled) >= 0) return larger ? b : a;
  const auto& [first, second] = std::minmax(key(a), key(b));
  const Range x = interval(a), y = interval(b);
  const Range range = larger ? Range{std::max(x.low, y.low), std::max(x.high, y.high)}
                             : Range{std::min(x.low, y.low), std::min(x.high, y.high)};
  const size_t known = keys_.size();
  Poly m = atom((larger ? "max(" : "min(") + first + ")(" + second + ")", range);
  if (keys_.size() > known) {
    for (const Poly& of : {a, b}) fact(larger ? added(m, of, -1) : added(of, m, -1));
    one_of_.insert({m.begin()->first[0], {a, b}});
  }
  return m;
}

/// Returns an entry of a list.
RuleBounds::MaybePoly RuleBounds::entry(ExprIndex at) {
  const ValueExpr &e = rule_.exprs[at], &list = rule_.exprs[e.operands[0]];
  const MaybePoly place = poly(e.operands[1]);
  const bool fixed = place && is_constant(*place);
  if (list.kind == Kind::ShapeOf && fixed)
    return dim(list.variable, static_cast<int64_t>(constant_of(*place)));
  if (list.kind == Kind::Variable && kinds_[list.variable] == AttrKind::pair)
    return atom(expr_text(rule_, at), {least_entry(list.variable), kUnbounded});
  if (list.kind != Kind::List || list.operands.empty()) return std::nullopt;
  if (fixed) {
    auto index = constant_of(*place), size = static_cast<Number>(list.operands.size());
    if (index < 0) index += size;
    return index >= 0 && index < size ? poly(list.operands[static_cast<size_t>(index)])
                                      : std::nullopt;
  }
  Range all{kUnbounded, -kUnbounded};
  for (ExprIndex operand : list.operands) {
    MaybePoly p = poly(operand);
    if (!p) return std::nullopt;
    const Range of = interval(*p);
    all = {std::min(all.low, of.low), std::max(all.high, of.high)};
  }
  return atom(expr_text(rule_, at), all);
}

/// Returns the least entry of a pair attribute: 0 only if that is its default.
int64_t RuleBounds::least_entry(uint32_t variable) const {
  int64_t least = 1;
  for (const Term& term : rule_.terms)
    for (size_t slot = 0; slot < term.attrs.size(); ++slot)
      if (term.attrs[slot].kind == TermAttr::Kind::Variable &&
          term.attrs[slot].variable == variable &&
          op_info(term.op).attrs()[slot].default_text == "0")
        least = 0;
  return least;
}

/// Returns the length, sum or product of a list.
RuleBounds::MaybePoly RuleBounds::of_list(ExprIndex at) {
  const ValueExpr &e = rule_.exprs[at], &list = rule_.exprs[e.operands[0]];
  std::vector<Poly> entries;
  if (list.kind == Kind::ShapeOf) {
    std::optional<int64_t> rank = rank_of(list.variable);
    if (!rank && e.kind == Kind::Len)
      return atom("rank " + std::to_string(tensor(list.variable)), {0, kMaxRank});
    if (!rank) return atom(expr_text(rule_, at), {e.kind == Kind::Prod ? 1 : 0, kUnbounded});
    for (int64_t axis = 0; axis < *rank; ++axis) entries.push_back(dim(list.variable, axis));
  } else if (list.kind == Kind::List) {
    for (ExprIndex operand : list.operands) {
      MaybePoly p = poly(operand);
      if (!p) return std::nullopt;
      entries.push_back(*p);
    }
  } else {
    return e.kind == Kind::Len ? MaybePoly(atom(expr_text(rule_, at), {0, kUnbounded}))
                               : std::nullopt;
  }
  if (e.kind == Kind::Len) return number<Poly>(static_cast<Number>(entries.size()));
  Poly result = number<Poly>(e.kind == Kind::Prod ? 1 : 0);
  for (const Poly& p : entries) {
    result = e.kind == Kind::Prod ? multiplied(result, p) : added(result, p);
    if (!small(result)) return std::nullopt;
  }
  return result;
}

// --- bounds ------------------------------------------------------------------------------------

Range RuleBounds::interval(const Poly& p) const {
  Range all{0, 0};
  for (const auto& [monomial, factor] : p) {
    Range term{factor, factor};
    for (size_t i = 0; i < monomial.size();) {
      const Range atom = ranges_[monomial[i]];
      size_t times = 1;
      while (i + times < monomial.size() && monomial[i + times] == monomial[i]) ++times;
      Range power = atom;
      for (size_t n = 1; n < times; ++n) power = product_of(power, atom);
      if (times % 2 == 0) power.low = std::max<Number>(power.low, 0);
      term = product_of(term, power);
      i += times;
    }
    all = sum_of(all, term);
  }
  return all;
}

/// Returns a lower bound of the polynomial, by cancelling up to `depth` terms with facts, or by
/// replacing a minimum or maximum by its operands.
RuleBounds::Number RuleBounds::least(const Poly& p, int depth) const {
  Number best = interval(p).low;
  if (depth == 0 || is_constant(p)) return best;
  for (const auto& [monomial, factor] : p) {
    auto choice = monomial.size() == 1 ? one_of_.find(monomial[0]) : one_of_.end();
    if (choice == one_of_.end()) continue;
    const Poly rest = added(p, Poly{{monomial, factor}}, -1);
    const Poly first = added(rest, choice->second.first, factor),
               second = added(rest, choice->second.second, factor);
    if (small(first) && small(second))
      best = std::max(best, std::min(least(first, depth - 1), least(second, depth - 1)));
  }
  for (const Poly& f : facts_)
    for (const auto& [monomial, factor] : p) {
      auto in_fact = monomial.empty() ? f.end() : f.find(monomial);
      if (in_fact == f.end() || (in_fact->second < 0) != (factor < 0)) continue;
      const Number a = magnitude(factor), b = magnitude(in_fact->second);
      const Number scale = b / std::gcd(static_cast<int64_t>(a), static_cast<int64_t>(b));
      Poly next = added(added({}, p, scale), f, -(scale * a / b)); // scale * p = next + ... * f
      if (!small(next)) continue;
      const Number bound = least(next, depth - 1);
      if (bound != -kUnbounded) best = std::max(best, ceil_div(bound, scale));
    }
  return best;
}

Range RuleBounds::bounds(const Poly& p) {
  propagate();
  const Number above = least(added({}, p, -1), kCancelled);
  return {least(p, kCancelled), -above};
}

RuleBounds::Range RuleBounds::difference(ExprIndex a, ExprIndex b) {
  MaybePoly x = poly(a), y = poly(b);
  return x && y ? bounds(added(*x, *y, -1)) : Range{};
}

RuleBounds::Range RuleBounds::range(ExprIndex at) {
  MaybePoly p = poly(at);
  return p ? bounds(*p) : Range{};
}

} // namespace tg
