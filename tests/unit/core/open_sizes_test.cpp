// Tests the algebra of open sizes against evaluation, proofs against all points of small regions,
// and a few conditions that must be proved.
#include "lang/core/sizes/region.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace tg::sizes {
namespace {

using Kind = Condition::Kind;
using Random = std::mt19937_64;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// An expression, and the same as a function of the sizes.
struct Twin {
  Expr expr;
  std::function<int64_t(const Point&)> value;
};

Twin twin(Algebra& algebra, Random& random, int depth) {
  if (depth == 0 || pick(random, 0, 5) == 0) {
    if (pick(random, 0, 1)) {
      int64_t n = pick(random, -5, 9);
      return {algebra.number(n), [n](const Point&) { return n; }};
    }
    auto size =
        static_cast<size_t>(pick(random, 0, static_cast<int64_t>(algebra.size_count()) - 1));
    return {algebra.size(size), [size](const Point& p) { return p[size]; }};
  }
  Twin a = twin(algebra, random, depth - 1);
  if (pick(random, 0, 2) == 0) {
    int64_t by = pick(random, 1, 6);
    return {algebra.floor_divide(a.expr, by), [a, by](const Point& p) {
              int64_t x = a.value(p), quotient = x / by;
              return x < 0 && quotient * by != x ? quotient - 1 : quotient;
            }};
  }
  Twin b = twin(algebra, random, depth - 1);
  switch (pick(random, 0, 2)) {
  case 0:
    return {algebra.add(a.expr, b.expr),
            [a, b](const Point& p) { return a.value(p) + b.value(p); }};
  case 1:
    return {algebra.subtract(a.expr, b.expr),
            [a, b](const Point& p) { return a.value(p) - b.value(p); }};
  default:
    return {algebra.multiply(a.expr, b.expr),
            [a, b](const Point& p) { return a.value(p) * b.value(p); }};
  }
}

bool holds(Kind kind, int64_t value) {
  return kind == Kind::Zero ? value == 0 : kind == Kind::NotZero ? value != 0 : value >= 0;
}

TEST(OpenSizes, NormalFormsHaveTheValuesOfTheirExpressions) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    Algebra algebra({"N", "M"});
    Twin t = twin(algebra, random, 4);
    if (!t.expr.known()) continue;
    for (int i = 0; i < 10; ++i) {
      Point point = {pick(random, 0, 40), pick(random, 0, 40)};
      ASSERT_EQ(algebra.value(t.expr, point), t.value(point)) << algebra.text(t.expr);
    }
    std::vector<std::optional<Expr>> by = {
        algebra.add(algebra.scale(algebra.size(1), 3), algebra.number(2)), std::nullopt};
    Expr replaced = algebra.substitute(t.expr, by);
    for (int64_t m = 0; replaced.known() && m < 10; ++m)
      ASSERT_EQ(algebra.value(replaced, {0, m}), t.value({3 * m + 2, m})) << algebra.text(t.expr);
  }
}

TEST(OpenSizes, SpellingsOfOneFunctionHaveOneForm) {
  Algebra a({"N", "M"});
  Expr n = a.size(0), m = a.size(1), one = a.number(1);
  EXPECT_EQ(a.add(a.floor_divide(a.subtract(n, one), 2), one), a.floor_divide(a.add(n, one), 2));
  EXPECT_EQ(a.floor_divide(a.floor_divide(n, 2), 3), a.floor_divide(n, 6));
  EXPECT_EQ(a.floor_divide(a.add(a.scale(n, 4), a.number(2)), 2), a.add(a.scale(n, 2), one));
  EXPECT_EQ(a.divide_exactly(a.multiply(a.add(n, m), n), n), a.add(n, m));
  EXPECT_EQ(a.divide_exactly(a.subtract(a.multiply(n, n), a.multiply(m, m)), a.add(n, m)),
            a.subtract(n, m));
  EXPECT_EQ(a.divide_exactly(a.add(n, one), n), std::nullopt);
  EXPECT_EQ(a.text(a.add(a.scale(a.multiply(n, m), 2), a.floor_divide(a.add(n, one), 2))),
            "(N + 1) // 2 + 2 * N * M");
}

TEST(OpenSizes, LargeCoefficientsAreUnknown) {
  Algebra a({"N"});
  Expr large = a.scale(a.size(0), int64_t{1} << 62);
  EXPECT_FALSE(a.scale(large, 4).known());
  EXPECT_FALSE(a.add(a.scale(large, 4), a.number(1)).known());
  Region region(a, {{1, std::nullopt}});
  EXPECT_FALSE(region.proves({a.scale(large, 4), Kind::NotNegative}));
}

/// Each proof is checked at all points of the region, each member by the conditions.
TEST(OpenSizes, ProofsAndMembersAreRight) {
  Random random(2);
  size_t proved = 0, members = 0;
  for (int round = 0; round < 1500; ++round) {
    Algebra algebra({"N", "M"});
    std::vector<Interval> box;
    for (int i = 0; i < 2; ++i) {
      int64_t least = pick(random, 0, 4);
      box.push_back({least, least + pick(random, 0, 12)});
    }
    std::vector<std::pair<Twin, Kind>> assumed;
    Region region(algebra, box);
    for (int64_t i = pick(random, 0, 3); i > 0; --i) {
      Twin t = twin(algebra, random, 2);
      auto kind = static_cast<Kind>(pick(random, 0, 2));
      if (!t.expr.known()) continue;
      assumed.emplace_back(t, kind);
      region.assume({t.expr, kind});
    }
    Twin asked = twin(algebra, random, 3);
    auto kind = static_cast<Kind>(pick(random, 0, 2));
    if (!asked.expr.known()) continue;
    bool all = true, any = false;
    auto inside = [&](const Point& p) {
      return std::all_of(assumed.begin(), assumed.end(),
                         [&](const auto& c) { return holds(c.second, c.first.value(p)); });
    };
    for (int64_t n = box[0].least; n <= *box[0].most; ++n)
      for (int64_t m = box[1].least; m <= *box[1].most; ++m)
        if (Point p = {n, m}; inside(p)) {
          any = true;
          all &= holds(kind, asked.value(p));
        }
    std::optional<Point> member = region.member();
    ASSERT_EQ(member.has_value(), any) << "round " << round;
    ASSERT_EQ(region.empty(), !any) << "round " << round;
    ASSERT_TRUE(!member || inside(*member));
    members += member.has_value();
    bool shown = region.proves({asked.expr, kind});
    ASSERT_TRUE(!any || !shown || all) << "round " << round << ": " << algebra.text(asked.expr);
    proved += shown && any;
    Condition opposite = region.negated({asked.expr, kind});
    ASSERT_FALSE(any && all && region.proves(opposite));
  }
  EXPECT_GT(proved, 150u);
  EXPECT_GT(members, 800u);
}

TEST(OpenSizes, ConditionsWithoutAnEndAreProved) {
  Algebra a({"N", "M"});
  Expr n = a.size(0), m = a.size(1);
  Region region(a, {{1, std::nullopt}, {2, std::nullopt}});
  auto never_negative = [&](Expr e) { return region.proves({e, Kind::NotNegative}); };
  auto zero = [&](Expr e) { return region.proves({e, Kind::Zero}); };
  EXPECT_TRUE(never_negative(a.subtract(n, a.floor_divide(n, 2))));
  EXPECT_TRUE(never_negative(a.subtract(a.multiply(n, m), a.add(n, a.number(1)))));
  EXPECT_FALSE(never_negative(a.subtract(n, m)));
  // Halves and what remains, in two spellings.
  Expr up = a.floor_divide(a.add(n, a.number(1)), 2), down = a.floor_divide(n, 2);
  EXPECT_TRUE(zero(a.subtract(a.add(up, down), n)));
  EXPECT_FALSE(zero(a.subtract(a.scale(down, 2), n)));
  region.assume({a.subtract(a.scale(down, 2), n), Kind::Zero}); // even
  EXPECT_TRUE(zero(a.subtract(a.scale(down, 2), n)));
  ASSERT_TRUE(region.member());
  EXPECT_EQ((*region.member())[0] % 2, 0);
}

} // namespace
} // namespace tg::sizes
