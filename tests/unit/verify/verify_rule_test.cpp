#include "compiler/verify/verify_rule.h"

#include "tests/unit/rules/rule_fixture.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

RuleVerdict verdict(const std::string& text) {
  std::vector<Rule> rules = test::rules_of(text);
  EXPECT_FALSE(rules.empty()) << text;
  return rules.empty() ? RuleVerdict() : verify_rule(rules[0]);
}

using Status = RuleVerdict::Status;

TEST(VerifyRule, TrueRulesAreTested) {
  RuleVerdict v = verdict("rule r(x, y, z) reassociates { (x @ y) @ z => x @ (y @ z) }");
  EXPECT_EQ(v.status, Status::Tested) << v.why << v.counterexample;
  EXPECT_GE(v.cases, 200u);
  EXPECT_EQ(v.in_field, v.cases);
  EXPECT_LT(v.log2_error, -40);
  EXPECT_EQ(v.observed, Numerics::Reassociates);
}

TEST(VerifyRule, EveryCombinationOfEnumeratedAttributesIsTried) {
  RuleVerdict v = verdict(R"(rule r(x, w, pad, act) exact {
    conv2d(x, w, pad = pad, act = act) => conv2d(x, identity(w), pad = pad, act = act) })");
  EXPECT_EQ(v.status, Status::Tested);
  EXPECT_EQ(v.combinations, 3 * enum_members(AttrKind::act).size()); // same, valid, numbers
}

TEST(VerifyRule, AnErrorInOneActivationIsFound) {
  // relu and none are idempotent, the others are not
  RuleVerdict v = verdict(R"(rule r(x, w, act) {
    matmul(identity(matmul(x, w, act = act)), w, act = act) => matmul(x, w @ w, act = act) })");
  EXPECT_EQ(v.status, Status::Refuted);
  EXPECT_NE(v.counterexample.find("model left"), std::string::npos);
  EXPECT_NE(v.counterexample.find("model right"), std::string::npos);
}

TEST(VerifyRule, RulesBetweenFunctionsAreDecidedInFloat64) {
  RuleVerdict v = verdict("rule r(x) { softmax(x + 1, -1) => softmax(x, -1) }");
  EXPECT_EQ(v.status, Status::Tested) << v.why;
  EXPECT_LT(v.in_field, v.cases);
}

/// As published (TASO). The groups of the two convolutions may differ.
TEST(VerifyRule, TheUnsoundGroupedConvolutionOfThePublishedSetIsRefuted) {
  RuleVerdict v = verdict(R"(rule r(x, a, y, b) {
    concat([conv2d(x, a, pad = same), conv2d(y, b, pad = same)], axis = 1)
      => conv2d(concat([x, y], axis = 1), concat([a, b], axis = 0), pad = same)
    where dim(a, 1) == dim(b, 1) })");
  EXPECT_EQ(v.status, Status::Refuted);
}

TEST(VerifyRule, ARuleWithoutInstancesIsEmpty) {
  std::vector<Rule> rules = test::rules_of("rule r(x) { relu(x) => x where rank(x) == 1 }");
  ASSERT_EQ(rules.size(), 1u);
  Rule never = rules[0]; // rank 1 and not rank 1: the parser rejects such a rule
  ValueExpr negation;
  negation.kind = ValueExpr::Kind::Not;
  negation.operands = {never.conditions[0]};
  never.exprs.push_back(negation);
  never.conditions.push_back(static_cast<ExprIndex>(never.exprs.size() - 1));
  RuleVerdict v = verify_rule(never);
  EXPECT_EQ(v.status, Status::Empty);
  EXPECT_EQ(v.cases, 0u);
}

TEST(VerifyRule, AnExactRuleThatRoundsIsRefuted) {
  RuleVerdict v = verdict("rule r(x, y, z) exact { (x + y) + z => x + (y + z) }");
  EXPECT_EQ(v.status, Status::Refuted);
  EXPECT_EQ(v.observed, Numerics::Reassociates);
  EXPECT_EQ(v.counterexample, ""); // the sides are equal
}

TEST(VerifyRule, VerdictsAreTheSameEachTime) {
  const char* text = "rule r(x, y) { x - y => y - x }";
  EXPECT_EQ(verdict(text).counterexample, verdict(text).counterexample);
}

TEST(Fingerprint, DistinguishesRules) {
  auto print = [](const char* text) { return rule_fingerprint(test::rules_of(text)[0]); };
  std::string base = print("rule r(x, y) { x - y => x + (-y) }");
  EXPECT_EQ(base, print("rule other(a, b) { a - b => a + (-b) }")); // names do not matter
  EXPECT_NE(base, print("rule r(x, y) { x - y => y + (-x) }"));
  EXPECT_NE(base, print("rule r(x, y) { x - y => x + (-y) where weight(x) }"));
  EXPECT_NE(base, print("rule r(x, y) risky { x - y => x + (-y) }"));
}

} // namespace
} // namespace tg
