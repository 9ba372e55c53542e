// Tests rules over conditions, indices, positions, limits and declared operators:
// instances are drawn, true rules hold, and false rules are refuted with a counterexample.
#include "compiler/verify/verify_rule.h"
#include "tests/unit/rules/rule_fixture.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

RuleVerdict verdict_of(llvm::StringRef text) {
  std::vector<Rule> rules = test::rules_of(text);
  EXPECT_FALSE(rules.empty()) << text.str();
  if (rules.empty()) return {};
  RuleCheckOptions options;
  options.instances = 60;
  return verify_rule(rules[0], options);
}

class InstancePredicate : public ::testing::TestWithParam<const char*> {};
TEST_P(InstancePredicate, AndHasInstances) {
  RuleVerdict verdict = verdict_of(GetParam());
  EXPECT_EQ(verdict.status, RuleVerdict::Status::Tested) << verdict.why << verdict.counterexample;
  EXPECT_GE(verdict.cases, 30u);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, InstancePredicate,
    ::testing::Values(
        "rule r(c, x) exact { select(c, x, x) => x where same_type(x, x), rank(c) == 0 }",
        "rule r(c, x, y) exact { select(not c, x, y) => select(c, y, x) }",
        "rule r(c, x, y, z) reassociates { select(c, x, y) * z => select(c, x * z, y * z) }",
        "rule r(x, y, z) exact { select(x < y, z, z) => z where same_type(x, y), same_type(x, z) }",
        "rule r(x) exact { argmax(neg(neg(x)), axis = -1) => argmax(x, axis = -1) }",
        "rule r(x, axis) exact { argmax(identity(x), axis) => argmax(x, axis) }",
        "rule r(x, i) exact { relu(gather(x, i)) => gather(relu(x), i) }",
        "rule r(x, y, i, axis) exact { gather(x, i, axis) + gather(y, i, axis) => "
        "gather(x + y, i, axis) where same_type(x, y) }",
        "rule r(t, axis, s) exact { reshape(reshape(iota(t, axis), s), s) => "
        "reshape(iota(t, axis), s) }",
        "rule r(x) exact { clip(x, 0, 6) => relu6(x) }",
        "rule r(x, a, b) exact { clip(clip(x, a, b), a, b) => clip(x, a, b) }",
        "rule r(x, d) exact { cast(identity(x), d) => cast(x, d) }",
        "rule r(x) exact { cast(cast(x, f32), f32) => x }",
        "rule r(x, a) reassociates { cumsum(x * 2, axis = a) => cumsum(x, axis = a) * 2 }",
        "extern op f(x: T[N, S...], y: i64[2 * N]) -> T[S...]\n"
        "rule r(x, y) exact { f(x * 1, y) => f(x, y) }",
        "extern op f(x: f32[N], y: f32[N]) -> bool[N]\n"
        "rule r(x, y, z) exact { select(f(x, y), z, z) => z where same_type(x, z) }"));

class Wrong : public ::testing::TestWithParam<const char*> {};
TEST_P(Wrong, IsRefuted) {
  RuleVerdict verdict = verdict_of(GetParam());
  EXPECT_EQ(verdict.status, RuleVerdict::Status::Refuted) << GetParam();
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Wrong,
    ::testing::Values(
        "rule r(c, x, y) { select(c, x, y) => select(c, y, x) where same_type(x, y) }",
        "rule r(c, x, y) { select(c, x, y) => x where same_type(x, y), rank(c) == 0 }",
        "rule r(x) { argmax(x, axis = -1) => argmax(-x, axis = -1) }",
        "rule r(x, i) { relu(gather(x, i)) => gather(x, i) }",
        "rule r(x, i) { gather(x, i) => gather(-x, i) }",
        // An index j out of range gives NaN on the left, and x[0] on the right.
        "rule r(x, i, j) exact { gather(gather(x, i), j) => gather(x, gather(i, j)) }",
        "rule r(x) { clip(x, 0, 7) => relu6(x) }", "rule r(x, d) { cast(-x, d) => cast(x, d) }",
        "rule r(x, a) { cumsum(x, axis = a) => x }",
        "extern op f(x: f32[N]) -> f32[N]\nrule r(x) { f(f(x)) => f(x) }",
        "extern op f(x: f32[N]) -> f32[N]\nrule r(x) { f(x * 2) => f(x) * 2 }",
        "extern op f(x: f32[N], y: f32[N]) -> f32[N]\nrule r(x, y) { f(x, y) => f(y, x) }",
        "extern op f(x: f32[N]) -> bool[N]\n"
        "rule r(x, y) { select(f(x), x, y) => x where same_type(x, y) }",
        "extern op f(x: f32[N]) -> i64[N]\n"
        "rule r(x, y) { gather(y, f(x)) => y where same_type(x, y) }"));

} // namespace
} // namespace tg
