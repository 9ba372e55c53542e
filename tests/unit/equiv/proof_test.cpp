#include "compiler/equiv/proof.h"

#include "compiler/egraph/rule_from_ast.h"
#include "compiler/equiv/proof_sums.h"
#include "lang/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

Proof proof_of(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("rule.tg", text + "\n");
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  EXPECT_FALSE(rules.empty()) << text;
  return rules.empty() ? Proof() : prove_rule(rules[0]);
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
    R"(rule r(x) { reduce_mean(x, axes = [1, 2]) => reduce_mean(reduce_mean(x, axes = [2]), axes = [1])
       where rank(x) == 3 })",
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
    // under a stride the window moves
    R"(rule r(x, w, k) { conv2d(x, enlarge(w, k), pad = same, ..) => conv2d(x, w, pad = same, ..) })",
    // padding is of zeros
    R"(rule r(x, w, c) { conv2d(x + c, w, pad = same) => conv2d(x, w, pad = same) + c
       where rank(c) == 0 })",
    // dilation ignored
    R"(rule r(x, w) { conv2d(x, w, stride = 1, pad = same, dilation = 2)
       => conv2d(x, w, stride = 1, pad = same) })",
    "rule r(x) { avg_pool2d(x, kernel = 2, pad = same, count_padding = true) => avg_pool2d(x, "
    "kernel "
    "= 2, pad = same, count_padding = false) }",
    "rule r(x) { softmax(x, axis = 0) => softmax(x, axis = 1) where rank(x) == 2, dim(x, 0) "
    "== "
    "dim(x, 1) }",
};

TEST(Proof, WrongRulesAreNot) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  for (const char* text : kWrong) EXPECT_FALSE(proof_of(text).proved) << text;
}

TEST(Proof, ARuleWithoutCasesIsNotProved) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  ProofOptions none;
  none.total = 0; // no question may be asked
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("rule.tg", "rule r(x, y, z) { (x @ y) @ z => x @ (y @ z) }\n");
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  ASSERT_EQ(rules.size(), 1u);
  Proof proof = prove_rule(rules[0], none);
  EXPECT_FALSE(proof.proved);
  EXPECT_NE(proof.why, "");
}

// --- what proofs are made of ---------------------------------------------------------------------

using namespace proof;

TEST(Arith, FollowsWhatLinearArithmeticSays) {
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

TEST(Sums, MatchUpToNamesOfBoundSymbols) {
  if (!have_solver()) GTEST_SKIP() << "built without Z3";
  Arith arith(make_solver(), 1000);
  Sums sums(arith);
  Poly n = arith.fresh_poly(1), m = arith.fresh_poly(1);
  auto sum = [&](const Poly& first, const Poly& size) { // of x[first] .. x[first + size - 1]
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
