#include "compiler/verify/proof/proof.h"

#include "compiler/verify/proof/symbolic/sums.h"
#include "compiler/verify/verify_rule.h"
#include "tests/unit/verify/rule_from_text.h"
#include "tests/unit/verify/status_name.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

Proof proof_of(const std::string& text) {
  std::optional<Rule> rule = rule_from_text(text);
  EXPECT_TRUE(rule) << text;
  return rule ? prove_rule(*rule) : Proof();
}

const char* const kTrue[] = {
    "rule r(x, y, z) { (x + y) * z => x * z + y * z }",
    "rule r(x) { relu(relu(x)) => relu(x) }",
    "rule r(x, y, z) { (x @ y) @ z => x @ (y @ z) }",
    "rule r(x, a, b) { x @ a + x @ b => x @ (a + b) where shape(a) == shape(b) }",
    "rule r(x, y) { transpose(x @ y, [1, 0]) => transpose(y, [1, 0]) @ transpose(x, [1, 0]) }",
    "rule r(x, p, q) { transpose(transpose(x, p), q) => transpose(x, compose(q, p)) }",
    "rule r(x, s, t) { reshape(reshape(x, s), t) => reshape(x, t) }",
    "rule r(x, y, axis) { tanh(concat([x, y], axis)) => concat([tanh(x), tanh(y)], axis) }",
    R"(rule r(x, y, v, w) { concat([x, y], axis = 1) @ concat([v, w], axis = 0) => x @ v + y @ w
       where rank(x) == 2, dim(x, 1) == dim(v, 0) })",
    R"(rule r(x, w, a, b) { slice(x @ w, 1, a, b) => x @ slice(w, 1, a, b)
       where rank(x) == 2, rank(w) == 2 })",
    R"(rule r(x, w, k) { conv2d(x, enlarge(w, k), stride = 1, pad = same, ..)
       => conv2d(x, w, stride = 1, pad = same, ..) })",
    R"(rule r(x, a, b, act) {
       conv2d(x, concat([a, b], axis = 0), bias = none, residual = none, act = act, ..)
         => concat([conv2d(x, a, act = act, ..), conv2d(x, b, act = act, ..)], axis = 1)
       where dim(a, 1) == dim(x, 1) })",
    R"(rule r(x, w) { reshape(x, [dim(x, 0) * dim(x, 1), dim(x, 2)]) @ w
       => reshape(x @ w, [dim(x, 0) * dim(x, 1), dim(w, 1)]) where rank(x) == 3, rank(w) == 2 })",
    // padding as a list beside no padding: the windows are equal
    R"(rule r(x, a, b, pad) {
       conv2d(x, a, pad = valid, dilation = 1), conv2d(x, b, pad = pad, dilation = 1)
         => split(conv2d(x, concat([enlarge(a, [dim(b, 2), dim(b, 3)]), b], axis = 0), pad = pad,
                         dilation = 1), axis = 1, sizes = [dim(a, 0), dim(b, 0)])
       where dim(a, 1) == dim(x, 1), dim(b, 1) == dim(x, 1),
             pad == [(dim(b, 2) - dim(a, 2)) / 2, (dim(b, 3) - dim(a, 3)) / 2,
                     (dim(b, 2) - dim(a, 2)) / 2, (dim(b, 3) - dim(a, 3)) / 2] })",
    R"(rule r(x, w, kernel, stride) {
       avg_pool2d(conv2d(x, w), kernel, stride, pad = valid)
         => conv2d(avg_pool2d(x, kernel, stride, pad = valid), w)
       where dim(w, 2) == 1, dim(w, 3) == 1 })",
    R"(rule r(x, w, p, q, r) { conv2d(pad(x, before = p, after = q, value = 0.0), w, pad = r, ..)
       => conv2d(x, w, pad = [p[2] + r[0], p[3] + r[1], q[2] + r[2], q[3] + r[3]], ..)
       where p[0] == 0, p[1] == 0, q[0] == 0, q[1] == 0 })",
    // a shape of one element for each channel
    R"(rule r(x, w, b) { conv2d(x, w) + b => conv2d(x, w, bias = reshape(b, [dim(w, 0)]))
       where rank(b) == 4, dim(b, 1) == dim(w, 0), dim(b, 2) == 1, dim(b, 3) == 1 })",
    "rule r(x) { clip(x, 0.0, 6.0) => relu6(x) }",
    // equal above the difference
    "rule r(x, y, z) { cumsum(x + (y + z), 0) => cumsum(z + (y + x), 0) }",
    R"(rule r(x, y, z) { max_pool2d(x * (y + z), 2) => max_pool2d(z * x + y * x, 2) })",
    R"(rule r(x) { reduce_mean(x, axes = [1, 2]) => reduce_mean(reduce_mean(x, axes = [2]), axes = [1])
       where rank(x) == 3 })",
    // groups of two convolutions merged, with equal numbers of groups or not
    R"(rule r(x, y, a, b) {
       concat([conv2d(x, a, bias = none, residual = none, ..),
               conv2d(y, b, bias = none, residual = none, ..)], axis = 1)
         => conv2d(concat([x, y], axis = 1), concat([a, b], axis = 0), ..)
       where dim(a, 0) * dim(y, 1) == dim(b, 0) * dim(x, 1) })",
    // axes without factors, before one that stays
    R"(rule r(x, s, b) { reshape(x, s) * b => reshape(x * b, s)
       where rank(b) == 1, rank(x) == 3, len(s) == 3, s[2] == dim(x, 2), dim(b, 0) == dim(x, 2) })",
    // adjacent pieces of a concat
    R"(rule r(x, y, s) {
       reshape(concat([x, y], axis = 0), s)
         => concat([reshape(x, [-1]), reshape(y, [-1])], axis = 0)
       where rank(x) == 3, len(s) == 1 })",
    // all axes but the last have one element, for any number of axes
    R"(rule r(x, w, b) { x @ w + b => matmul(x, w, bias = reshape(b, [dim(w, -1)]))
       where rank(b) > 1, rank(b) <= rank(x), dim(b, -1) == dim(w, -1) })",
    // a quotient of floats is a product, of integers an uninterpreted function
    "rule r(x, y, z) { x / y * z => x * z / y where float(x) }",
    "rule r(x, y) { (x + x) / y => (2 * x) / y }",
};

TEST(Proof, TrueRulesOfTheFragmentAreProved) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  for (const char* text : kTrue) {
    Proof proof = proof_of(text);
    EXPECT_TRUE(proof.proved) << text << "\n" << proof.why;
    EXPECT_GE(proof.cases, 1u);
  }
}

/// Each is true at some sizes, ranks or values, and false at others.
const char* const kWrong[] = {
    "rule r(x, y) { x - y => y - x }",
    "rule r(x, axes) { exp(x) / reduce_sum(exp(x), axes = axes, keepdims = true) "
    "=> softmax(x, axis = axes[1]) where len(axes) < 3 }",
    "rule r(x, y) { relu(x + y) => relu(x) + relu(y) }",
    "rule r(x, y) { x @ y => y @ x where shape(x) == shape(y) }",
    "rule r(x, p, q) { transpose(transpose(x, p), q) => transpose(x, compose(p, q)) "
    "where rank(x) == 3, dim(x, 0) == dim(x, 1), dim(x, 1) == dim(x, 2) }",
    // broadcasting: a sum of two rows
    "rule r(x, y) { reduce_sum(x + y, axes = [0]) => reduce_sum(x, axes = [0]) + reduce_sum(y, "
    "axes "
    "= [0]) where rank(x) == 1, rank(y) == 1 }",
    "rule r(x, a) { reshape(transpose(x, [1, 0]), a) => reshape(x, a) where rank(x) == 2 }",
    "rule r(x, y, axis) { concat([x, y], axis) => concat([y, x], axis) }",
    "rule r(x, axis, a, b) { slice(x, axis, a, b) => slice(x, axis, 0, b - a) }",
    // the groups of the two may differ (as published)
    R"(rule r(x, y, a, b) { concat([conv2d(x, a, pad = same), conv2d(y, b, pad = same)], axis = 1)
       => conv2d(concat([x, y], axis = 1), concat([a, b], axis = 0), pad = same)
       where dim(a, 1) == dim(b, 1) })",
    // more than one group
    R"(rule r(x, a, b) { concat([conv2d(x, a), conv2d(x, b)], axis = 1)
       => conv2d(x, concat([a, b], axis = 0)) })",
    // equal above, but not below; and equal elements, but not shapes
    "rule r(x, y) { max_pool2d(x - y, 2) => max_pool2d(y - x, 2) }",
    R"(rule r(x, y) { reduce_sum(x + (y - y), axes = [0], keepdims = true)
       => reduce_sum(x, axes = [0], keepdims = true) where rank(x) == 1, rank(y) == 1 })",
    "rule r(x) { max_pool2d(x, 2, pad = same) => max_pool2d(x, 3, pad = same) }",
    // a shape of another rank: rows of another length
    R"(rule r(x, s) { softmax(reshape(x, s), axis = 1) => reshape(softmax(x, axis = 1), s)
       where rank(x) == 2, s[0] == dim(x, 0) })",
    // padding on one side only, and as much as a smaller kernel has
    R"(rule r(x, a, b, pad) {
       conv2d(x, a, pad = valid), conv2d(x, b, pad = pad)
         => split(conv2d(x, concat([enlarge(a, [dim(b, 2), dim(b, 3)]), b], axis = 0), pad = pad),
                  axis = 1, sizes = [dim(a, 0), dim(b, 0)])
       where dim(a, 1) == dim(x, 1), dim(b, 1) == dim(x, 1),
             pad == [dim(b, 2) - dim(a, 2), dim(b, 3) - dim(a, 3), 0, 0] })",
    // windows that overlap, of every second pixel
    R"(rule r(x, w) { avg_pool2d(conv2d(x, w), 2, stride = 2)
       => conv2d(avg_pool2d(x, 2, stride = 2), w) 
       where dim(w, 2) == 2, dim(w, 3) == 2, dim(x, 2) == 6, dim(x, 3) == 6 })",
    // one channel's scale for all
    R"(rule r(x, w, s) { conv2d(x, w) * s => conv2d(x, w * reshape(s, [1, dim(s, 1), 1, 1]))
       where rank(s) == 4, dim(s, 0) == 1, dim(s, 2) == 1, dim(s, 3) == 1 })",
    "rule r(x) { clip(x, 0.0, 5.0) => relu6(x) }",
    // with a stride, the window moves
    R"(rule r(x, w, k) { conv2d(x, enlarge(w, k), pad = same, ..) => conv2d(x, w, pad = same, ..) })",
    // padding consists of zeros
    R"(rule r(x, w, c) { conv2d(x + c, w, pad = same) => conv2d(x, w, pad = same) + c
       where rank(c) == 0 })",
    // dilation ignored
    R"(rule r(x, w) { conv2d(x, w, stride = 1, pad = same, dilation = 2)
       => conv2d(x, w, stride = 1, pad = same) })",
    "rule r(x) { avg_pool2d(x, kernel = 2, pad = same, count_padding = true) => avg_pool2d(x, "
    "kernel "
    "= 2, pad = same, count_padding = false) }",
    // equal numbers of results, but different groups
    R"(rule r(x, y, a, b) {
       concat([conv2d(x, a, pad = same), conv2d(y, b, pad = same)], axis = 1)
         => conv2d(concat([x, y], axis = 1), concat([a, b], axis = 0), pad = same)
       where dim(a, 0) == dim(b, 0) })",
    // the inputs of two groups in reverse order
    R"(rule r(x, y, a, b) {
       concat([conv2d(x, a, pad = same), conv2d(y, b, pad = same)], axis = 1)
         => conv2d(concat([y, x], axis = 1), concat([a, b], axis = 0), pad = same)
       where shape(x) == shape(y), shape(a) == shape(b) })",
    // the axes before the last are in another order
    R"(rule r(x, s) { reshape(transpose(x, [1, 0, 2]), s) => reshape(x, s)
       where len(s) == 3, s[2] == dim(x, 2) })",
    // axes other than the first are interleaved
    R"(rule r(x, y, s) {
       reshape(concat([x, y], axis = 1), s)
         => concat([reshape(x, [-1]), reshape(y, [-1])], axis = 0)
       where rank(x) == 3, len(s) == 1 })",
    // integers are rounded down
    "rule r(x, y, z) { x / y * z => x * z / y }",
    "rule r(x, y) { x / y => x * (1 / y) }",
    "rule r(x) { softmax(x, axis = 0) => softmax(x, axis = 1) where rank(x) == 2, dim(x, 0) "
    "== "
    "dim(x, 1) }",
};

TEST(Proof, WrongRulesAreNot) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  for (const char* text : kWrong) {
    std::optional<Rule> rule = rule_from_text(text);
    EXPECT_TRUE(rule) << text;
    if (!rule) continue;
    EXPECT_FALSE(prove_rule(*rule).proved) << text;
    RuleCheckOptions options;
    options.smaller = 0;
    EXPECT_EQ(status_name(verify_rule(*rule, options).status), "refuted") << text;
  }
}

TEST(Proof, ARuleWithoutCasesIsNotProved) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  ProofOptions none;
  none.total = 0; // no query is allowed
  std::optional<Rule> rule = rule_from_text("rule r(x, y, z) { (x @ y) @ z => x @ (y @ z) }");
  ASSERT_TRUE(rule);
  Proof proof = prove_rule(*rule, none);
  EXPECT_FALSE(proof.proved);
  EXPECT_NE(proof.why, "");
}

// --- parts of proofs -----------------------------------------------------------------------------

using namespace proof;

TEST(Arith, DerivesLinearConsequences) {
  if (!have_solver()) GTEST_SKIP() << "built without Z3";
  Arith arith(make_solver(), 1000);
  Poly n = arith.fresh_poly(1), i = arith.fresh_poly(0), m = arith.fresh_poly(1);
  arith.assume(less(i, n));
  EXPECT_TRUE(arith.follows(less(i, n + m)));
  EXPECT_FALSE(arith.follows(less(i + 1, n)));
  EXPECT_FALSE(arith.follows(equal(n, m)));
  arith.assume(equal(n, m + 2));
  EXPECT_TRUE(arith.follows(at_least(n, 3)));
  EXPECT_TRUE(arith.follows_equal(n * m, m * m + m * Poly(2)));
  arith.push(less(i, 1));
  EXPECT_TRUE(arith.follows_equal(i, 0));
  arith.pop();
  EXPECT_FALSE(arith.follows_equal(i, 0));
  EXPECT_TRUE(arith.consistent());
  arith.assume(less(n, 3));
  EXPECT_FALSE(arith.consistent());
}

TEST(Poly, IsDividedWhereNoRestIsLeft) {
  Poly a = Poly::of(0), b = Poly::of(1), c = Poly::of(2);
  EXPECT_EQ((a * b + c * b).quotient(b), a + c);
  EXPECT_EQ(((a + b) * (c - a * b + 2)).quotient(a + b), c - a * b + 2);
  EXPECT_EQ(((a + b) * (a - b)).quotient(a - b), a + b);
  EXPECT_EQ((a * Poly(6)).quotient(Poly(3)), a * Poly(2));
  EXPECT_EQ(Poly(0).quotient(a), Poly(0));
  EXPECT_EQ((a * b + c).quotient(b), std::nullopt);
  EXPECT_EQ((a * a + b * b).quotient(a + b), std::nullopt);
  EXPECT_EQ(a.quotient(Poly(2)), std::nullopt);
  EXPECT_EQ(a.quotient(0), std::nullopt);
}

/// Products of indices are separate unknowns, and comparisons constrain them.
TEST(Arith, LooksAtBothSidesOfAComparison) {
  if (!have_solver()) GTEST_SKIP() << "built without Z3";
  Arith arith(make_solver(), 1000);
  Poly n = arith.fresh_poly(1), p = arith.fresh_poly(1), q = arith.fresh_poly(1);
  Poly g = arith.fresh_poly(std::nullopt), o = arith.fresh_poly(0), c = arith.fresh_poly(0);
  arith.push(at_least(g, 0));
  arith.push(at_least(o, g * p)); // o is in group g, and among the first n
  arith.push(less(o, n * p));
  arith.push(less(c, q));
  EXPECT_TRUE(arith.consistent());
  EXPECT_FALSE(arith.follows(less(g * q + c, n)));
  EXPECT_TRUE(arith.follows(less(g * q + c, n * q)));
  EXPECT_TRUE(arith.follows(at_least(g * q, 0)));
  arith.push(at_least(g * q + c, n * q));
  EXPECT_FALSE(arith.consistent());
}

/// A product with a sum of sizes equals another one only if the other factors are equal.
TEST(Arith, CancelsSums) {
  if (!have_solver()) GTEST_SKIP() << "built without Z3";
  Arith arith(make_solver(), 1000);
  Poly a = arith.fresh_poly(1), b = arith.fresh_poly(1), p = arith.fresh_poly(1);
  Poly sum = arith.fresh_poly(1), q = arith.fresh_poly(1), r = arith.fresh_poly(std::nullopt);
  arith.assume(equal(sum, a + b));
  arith.assume(equal(a * p + b * p, sum * q));
  EXPECT_TRUE(arith.follows_equal(p, q));
  arith.assume(equal(a * r, b * r)); // nothing is known about a - b
  EXPECT_FALSE(arith.follows_equal(r, 0));
}

TEST(Sums, MatchUpToNamesOfBoundSymbols) {
  if (!have_solver()) GTEST_SKIP() << "built without Z3";
  Arith arith(make_solver(), 1000);
  Sums sums(arith);
  Poly n = arith.fresh_poly(1), m = arith.fresh_poly(1);
  auto sum = [&](const Poly& first, const Poly& size) { // sum of x[first] to x[first + size - 1]
    Sym s = arith.fresh();
    proof::Value v = Sums::of({Factor::Kind::Element, "x", {first + Poly::of(s)}, {}, false});
    v.products[0].bound = {s};
    return Sums::where(v, {at_least(Poly::of(s), 0), less(Poly::of(s), size)});
  };
  EXPECT_TRUE(sums.equal(sum(0, n), sum(0, n)));
  EXPECT_TRUE(sums.equal(sum(1, n), sum(1, n)));
  EXPECT_FALSE(sums.equal(sum(0, n), sum(1, n)));
  EXPECT_FALSE(sums.equal(sum(0, n), sum(0, m)));
  EXPECT_FALSE(sums.equal(sum(0, n), Sums::add(sum(0, n), sum(0, n))));
  EXPECT_TRUE(
      sums.equal(Sums::multiply(sum(0, n), sum(0, m)), Sums::multiply(sum(0, m), sum(0, n))));
}

TEST(Ratio, IsOfTheDecimalText) {
  EXPECT_EQ(ratio_of(0.5).over, 1);
  EXPECT_EQ(ratio_of(0.5).under, 2);
  EXPECT_EQ(ratio_of(-0.1).over, -1);
  EXPECT_EQ(ratio_of(-0.1).under, 10);
  EXPECT_FALSE(ratio_of(0.1 + 0.2).valid);
  EXPECT_FALSE((Ratio{INT64_MAX} + Ratio{1}).valid);
}

} // namespace
} // namespace tg
