// Tests rules that are wrong only for numbers or instances that are rarely drawn:
// the default instances refute each of them with any seed.
#include "compiler/verify/verify_rule.h"
#include "tests/unit/rules/rule_fixture.h"
#include "tests/unit/verify/status_name.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

RuleVerdict verdict_of(llvm::StringRef text, uint64_t seed = 7) {
  std::vector<Rule> rules = test::rules_of(text);
  EXPECT_FALSE(rules.empty()) << text.str();
  if (rules.empty()) return {};
  RuleCheckOptions options;
  options.seed = seed;
  options.smaller = 20;
  return verify_rule(rules[0], options);
}

class SeldomWrong : public ::testing::TestWithParam<const char*> {};
TEST_P(SeldomWrong, IsRefutedWithEverySeed) {
  for (uint64_t seed : {7, 1, 2, 3, 4}) {
    RuleVerdict verdict = verdict_of(GetParam(), seed);
    EXPECT_EQ(status_name(verdict.status), "refuted") << "seed " << seed << ": " << GetParam();
    EXPECT_NE(verdict.why, "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Constants, SeldomWrong,
    ::testing::Values(
        "rule r(x, c) { max_pool2d(x * c, kernel = 3) => max_pool2d(x, kernel = 3) * c "
        "where constant(c), rank(c) == 0 }",
        "rule r(x, c) { x * c => x * abs(c) where constant(c) }",
        "rule r(x, c) exact { x / c => x / abs(c) where constant(c) }",
        "rule r(x, c) { relu(x * c) => relu(x) * c where constant(c) }",
        "rule r(x, c) { maximum(x, c) => x where constant(c), rank(c) == 0 }",
        "rule r(x, c) { x * c => x where constant(c), rank(c) == 0 }"));

INSTANTIATE_TEST_SUITE_P(
    Numbers, SeldomWrong,
    ::testing::Values(
        "rule r(x) exact { clip(x, -1000, 1000) => x }",
        "rule r(x) exact { minimum(x, 1e30) => x }",
        "rule r(x) { select(x > 1234.5, x + 1, x) => x }",
        "rule r(x) { relu(x + 500.0) => x + 500.0 }",
        "rule r(x, y) { relu(x - 40 * relu(y)) => relu(x - 40 * relu(y) - relu(x - 39)) }",
        "rule r(x, y) exact { not (x >= y) => x < y }",
        "rule r(x) exact { x * 0 => zeros(shape(x)) where float(x) }",
        "rule r(x) exact { x - x => zeros(shape(x)) where float(x) }",
        "rule r(x) exact { cast(cast(x, f16), f32) => x }",
        "rule r(x) exact { cast(cast(x, f32), i64) => x }",
        "rule r(x) exact { cast(cast(x, i32), f32) => x }",
        "rule r(x, c) exact { argmax(x + c, axis = -1) => argmax(x, axis = -1) where rank(c) == 0 "
        "}",
        "rule r(x, c) reassociates { argmax(x + c, axis = -1) => argmax(x, axis = -1) "
        "where rank(c) == 0 }",
        "rule r(x, w, b) exact { matmul(x, w) + b => matmul(x, w, bias = b) "
        "where rank(b) == 1, dim(b, 0) == dim(w, -1) }"));

INSTANTIATE_TEST_SUITE_P(
    Integers, SeldomWrong,
    ::testing::Values(
        "rule r(x, c) { (x * c) / c => x where not float(x), rank(c) == 0 }",
        "rule r(x) { relu(x + x) => relu(x) + relu(x) where not float(x) }",
        "rule r(x, y) { x < y => x - y < y - y where not float(x), same_type(x, y) }",
        "rule r(x) { reduce_sum(abs(x), axes = [0]) => abs(reduce_sum(abs(x), axes = [0])) "
        "where not float(x) }",
        "rule r(x, c, i) exact { gather(x + c, i) => gather(x, i) + c "
        "where not float(x), rank(c) == 0 }",
        "rule r(x, i, j) exact { gather(gather(x, i), j) => gather(x, gather(i, j)) }"));

/// Rules with a missing condition, or with attributes that the other side does not have.
INSTANTIATE_TEST_SUITE_P(
    Instances, SeldomWrong,
    ::testing::Values(
        "rule r(x, h, k) { max_pool2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h]), "
        "kernel = k) => max_pool2d(x, kernel = k, pad = h) }",
        "rule r(x, w, h) { conv2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h], value = "
        "5.0), "
        "w, pad = valid) => conv2d(x, w, pad = h) }",
        "rule r(x, w, h, v) { conv2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h], "
        "value = v), w, pad = valid) => conv2d(x, w, pad = h) }",
        "rule r(x, k, h) { avg_pool2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h], "
        "value = 3.0), kernel = k) => avg_pool2d(x, kernel = k, pad = h, count_padding = true) }"));

/// There is nothing to compare.
TEST(Partitions, ARuleWhoseResultsAreNeverNumbersIsUntested) {
  RuleVerdict verdict = verdict_of("rule r(x) { log(-abs(x) - 1) => log(-abs(x) - 2) }");
  EXPECT_EQ(status_name(verdict.status), "untested") << verdict.why;
  EXPECT_NE(verdict.why, "");
}

TEST(Partitions, AreCounted) {
  RuleVerdict verdict = verdict_of("rule r(x, y) exact { x - y => x + (-y) }");
  EXPECT_EQ(status_name(verdict.status), "tested") << verdict.why;
  EXPECT_GE(verdict.partitions, 20u); // for two tensors
  EXPECT_GE(verdict.partition_pairs, 50u);
  EXPECT_GT(verdict.kinds, 20u);
  EXPECT_GT(verdict.kind_pairs, 200u);
}

} // namespace
} // namespace tg
