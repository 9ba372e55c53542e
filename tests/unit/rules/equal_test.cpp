// Tests which rules are equal, and which of them are kept.
#include "compiler/rules/equal.h"

#include "tests/unit/rules/rule_fixture.h"

namespace tg {
namespace {

using test::rules_of;

constexpr llvm::StringLiteral kRule = "rule one(x, y, z) { (x @ y) + (x @ z) => x @ (y + z) where "
                                      "rank(x) == 2, shape(y) == shape(z) }";

/// Returns true if the rule of this text is equal to kRule.
bool says_it(llvm::StringRef text) {
  std::vector<Rule> one = rules_of(kRule), other = rules_of(text);
  EXPECT_FALSE(one.empty() || other.empty());
  bool same = same_rule(one.front(), other.front());
  EXPECT_EQ(same, same_rule(other.front(), one.front()));
  return same;
}

TEST(SameRule, NamesAndTheOrderOfConditionsDoNotMatter) {
  EXPECT_TRUE(says_it(kRule));
  EXPECT_TRUE(says_it("rule two(b, c, a) { (a @ b) + (a @ c) => a @ (b + c)"
                      " where shape(b) == shape(c), rank(a) == 2 }"));
}

TEST(SameRule, AllElseDoes) {
  // Another operand, operator, condition, number of conditions, class of numerics;
  // one variable for two.
  for (llvm::StringRef text :
       {"rule r(x, y, z) { (x @ y) + (x @ z) => x @ (z + y)"
        " where rank(x) == 2, shape(y) == shape(z) }",
        "rule r(x, y, z) { (x @ y) - (x @ z) => x @ (y - z)"
        " where rank(x) == 2, shape(y) == shape(z) }",
        "rule r(x, y, z) { (x @ y) + (x @ z) => x @ (y + z)"
        " where rank(x) == 3, shape(y) == shape(z) }",
        "rule r(x, y, z) { (x @ y) + (x @ z) => x @ (y + z)"
        " where rank(y) == 2, shape(y) == shape(z) }",
        "rule r(x, y, z) { (x @ y) + (x @ z) => x @ (y + z) where shape(y) == shape(z) }",
        "rule r(x, y, z) exact { (x @ y) + (x @ z) => x @ (y + z)"
        " where rank(x) == 2, shape(y) == shape(z) }",
        "rule r(x, y) { (x @ y) + (x @ y) => x @ (y + y)"
        " where rank(x) == 2, shape(y) == shape(y) }"})
    EXPECT_FALSE(says_it(text)) << text.str();
}

TEST(SameRule, AttributesAreCompared) {
  std::vector<Rule> rules =
      rules_of("rule a(x, axis) { softmax(x, axis = axis) => exp(softmax(x, axis = axis)) }\n"
               "rule b(y, k) { softmax(y, axis = k) => exp(softmax(y, axis = k)) }\n"
               "rule c(y) { softmax(y, axis = 1) => exp(softmax(y, axis = 1)) }\n"
               "rule d(y) { softmax(y, axis = 0) => exp(softmax(y, axis = 0)) }\n");
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_TRUE(same_rule(rules[0], rules[1]));
  EXPECT_FALSE(same_rule(rules[1], rules[2]));
  EXPECT_FALSE(same_rule(rules[2], rules[3]));
}

TEST(DistinctRules, KeepTheFirstOrTheUsers) {
  std::vector<Rule> rules = rules_of("rule a(x) { relu(relu(x)) => relu(x) }\n"
                                     "rule b(x, y) { x + y => y + x }\n"
                                     "rule c(z) { relu(relu(z)) => relu(z) }\n"
                                     "rule d(x, y) { x * y => y * x }\n");
  EXPECT_EQ(distinct_rules(rules), (std::vector<RuleId>{0, 1, 3}));
  rules[0].built_in = rules[1].built_in = true;
  EXPECT_EQ(distinct_rules(rules), (std::vector<RuleId>{2, 1, 3}));
  EXPECT_TRUE(distinct_rules({}).empty());
}

} // namespace
} // namespace tg
