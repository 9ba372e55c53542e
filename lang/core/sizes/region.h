// A set of sizes: ranges, and conditions that hold. Decides whether a condition holds everywhere in
// the set, and finds members. Both are sound and incomplete: `proves` returns true only for a
// proof, `member` only a point that it has checked.
//
// A proof is one of: the normal form is a constant; the condition is known; bounds by intervals;
// for polynomials with divisions, each combination of remainders makes them polynomials in the
// quotients, whose coefficients then show the sign; and all points are tried where there are few.
#pragma once

#include "lang/core/sizes/algebra.h"

#include <functional>
#include <set>

namespace tg::sizes {

struct Interval {
  int64_t least = 0;
  std::optional<int64_t> most; // absent: no end

  bool contains(int64_t n) const { return n >= least && (!most || n <= *most); }
  bool empty() const { return most && *most < least; }
};

struct Condition {
  enum class Kind : uint8_t { Zero, NotZero, NotNegative };
  Expr of;
  Kind kind = Kind::Zero;
  auto operator<=>(const Condition&) const = default;
};

class Region {
public:
  /// One interval for each size of the algebra, which must outlive the region.
  Region(Algebra& algebra, std::vector<Interval> box);

  Condition negated(const Condition& condition);
  /// Restricts the set to the points at which the condition holds.
  void assume(const Condition& condition);
  bool proves(const Condition& condition);
  /// Returns a point of the set, small numbers first, if the search finds one.
  std::optional<Point> member() const;
  /// True if the set is shown to have no point.
  bool empty() const;
  /// True if every size has an end.
  bool bounded() const;
  const std::vector<Interval>& box() const { return box_; }

private:
  Expr simplified(Expr a) const;
  void narrow(const Condition& condition);
  void replace(size_t size, Expr by);
  bool holds(const Condition& condition, llvm::ArrayRef<int64_t> point) const;
  bool contains(llvm::ArrayRef<int64_t> point) const;
  bool refuted_by_points(const Condition& condition) const;
  bool proves_simplified(const Condition& condition) const;
  bool never_negative(Expr a) const;
  bool for_remainders(Expr a,
                      llvm::function_ref<bool(Expr, llvm::ArrayRef<Interval>)> proved) const;
  bool true_at_all_points(const Condition& condition) const;
  std::vector<std::vector<int64_t>> candidates() const;
  std::optional<std::vector<std::vector<int64_t>>> all_values(size_t limit) const;
  bool walk(llvm::ArrayRef<std::vector<int64_t>> values, size_t limit,
            llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> visit) const;

  Algebra& algebra_;
  std::vector<Interval> box_;
  std::vector<std::optional<Expr>> replaced_; // sizes that equal an expression of the others
  std::set<Condition> known_;                 // simplified
  std::set<Condition> proved_;
};

} // namespace tg::sizes
