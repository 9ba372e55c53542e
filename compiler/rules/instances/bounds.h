// Bounds of a rule's integer arithmetic: the least and the largest value of an expression over all
// instances that satisfy the conditions.
//
// An expression becomes a polynomial over atoms: sizes, ranks, attributes, and quotients,
// remainders, minima and maxima of polynomials. Conditions and the definitions of atoms are facts:
// polynomials that are never negative. Bounds are propagated through the facts from atom to atom,
// as in constraint solvers. A polynomial is bounded by its terms after facts have cancelled some of
// them. Bounds are valid but not always tight.
#pragma once

#include "compiler/rules/rule.h"

#include <map>

namespace tg {

class RuleBounds {
public:
  /// Sums and products of values below kUnbounded in magnitude are exact.
  __extension__ using Number = __int128;
  static constexpr Number kUnbounded = Number(1) << 60;
  /// A side beyond kUnbounded has no bound.
  struct Range {
    Number low = -kUnbounded, high = kUnbounded;
    bool single() const { return low == high; }
  };

  /// The rule must outlive the object.
  explicit RuleBounds(const Rule& rule);

  /// Returns the range of the difference of two integer expressions; unbounded if one is
  /// not an integer.
  Range difference(ExprIndex a, ExprIndex b);
  /// Returns the range of an expression.
  Range range(ExprIndex at);

private:
  using Atom = uint32_t;
  using Monomial = std::vector<Atom>; // ascending, with repetitions
  using Poly = std::map<Monomial, Number>;
  using MaybePoly = std::optional<Poly>;

  void add_condition(ExprIndex at, bool negated, bool types);
  void add_products();
  uint32_t tensor(uint32_t variable) const;
  std::optional<int64_t> rank_of(uint32_t variable) const;
  void fact(Poly p);
  void equal(const Poly& a, const Poly& b);
  void propagate();

  Poly atom(const std::string& key, Range range);
  std::string key(const Poly& p) const;
  MaybePoly poly(ExprIndex at);
  Poly dim(uint32_t variable, int64_t axis);
  MaybePoly operation(const ValueExpr& e);
  Poly power(const Poly& base, const Poly& exponent);
  Poly divided(const Poly& a, const Poly& b, bool quotient);
  Poly chosen(const Poly& a, const Poly& b, bool larger);
  MaybePoly entry(ExprIndex at);
  MaybePoly of_list(ExprIndex at);

  int64_t least_entry(uint32_t variable) const;

  Range interval(const Poly& p) const;
  Number least(const Poly& p, int depth) const;
  Range bounds(const Poly& p);

  const Rule& rule_;
  std::vector<std::optional<AttrKind>> kinds_;   // by value variable
  std::vector<std::string> keys_;                // by atom
  std::vector<Range> ranges_;                    // by atom
  std::vector<Poly> facts_;                      // never negative
  std::map<Atom, std::pair<Poly, Poly>> one_of_; // minima and maxima: their two operands
  std::vector<uint32_t> same_type_;   // by class variable: another of the same type, or itself
  std::map<uint32_t, int64_t> ranks_; // by class variable, if a condition fixes it
  bool changed_ = false;
};

} // namespace tg
