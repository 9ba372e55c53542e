// Tests which rules are equal, and which dtypes their tensors may have.
#include "compiler/rules/instances/dtypes.h"
#include "compiler/rules/rule_form.h"
#include "tests/unit/rules/rule_fixture.h"

#include <gtest/gtest.h>

#include <set>

namespace tg {
namespace {

std::string repeated(const std::string& text) {
  std::string list;
  for (const Repetition& r : repetitions(test::rules_of(text)))
    list += r.declared + (r.whole ? " = " : " < ") + r.of + ";";
  return list;
}

TEST(RuleForm, NamesAreNothing) {
  EXPECT_EQ(repeated("rule a(x, y) { x - y => x + (-y) }\nrule b(y, x) { y - x => y + (-x) }"),
            "b = a;");
  EXPECT_EQ(repeated("rule a(x, y) { x - y => x + (-y) }\nrule b(x, y) { y - x => x + (-y) }"), "");
  EXPECT_EQ(repeated("rule a(x, s, t) { reshape(reshape(x, s), t) => reshape(x, t) }\n"
                     "rule b(x, t, s) { reshape(reshape(x, t), s) => reshape(x, s) }\n"
                     "rule c(x, s, t) { reshape(reshape(x, s), t) => reshape(reshape(x, t), t) }"),
            "b = a;");
}

TEST(RuleForm, SidesOfATwoWayRuleMayBeSwapped) {
  EXPECT_EQ(repeated("rule a(x, y) { x - y <=> x + (-y) }\nrule b(x, y) { x + (-y) <=> x - y }"),
            "b = a;");
  EXPECT_EQ(repeated("rule a(x, y) { x - y => x + (-y) }\nrule b(x, y) { x + (-y) => x - y }"), "");
  EXPECT_EQ(repeated("rule a(x, y) { x - y => x + (-y) }\nrule b(x, y) { x + (-y) <=> x - y }"),
            "a < b;");
}

TEST(RuleForm, ConditionsHaveNoOrder) {
  const char* two = "rule a(x, y, z) { x @ y + x @ z => x @ (y + z) "
                    "where rank(x) == 2, dim(y, 0) >= rank(z) }\n"
                    "rule b(x, z, y) { x @ z + x @ y => x @ (z + y) where ";
  EXPECT_EQ(repeated(std::string(two) + "rank(y) <= dim(z, 0), 2 == rank(x) }"), "b = a;");
  EXPECT_EQ(repeated(std::string(two) + "rank(y) < dim(z, 0), 2 == rank(x) }"), "");
  EXPECT_EQ(repeated(std::string(two) + "rank(x) == 2 }"), "");
}

TEST(RuleForm, ResultsHaveNoOrder) {
  EXPECT_EQ(repeated("rule a(x) { relu(x), tanh(x) => x, neg(x) }\n"
                     "rule b(y) { tanh(y), relu(y) => neg(y), y }\n"
                     "rule c(y) { tanh(y), relu(y) => y, neg(y) }"),
            "b = a;");
}

// --- distinct rules -----------------------------------------------------------------------------

constexpr llvm::StringLiteral kRule = "rule one(x, y, z) { (x @ y) + (x @ z) => x @ (y + z) where "
                                      "rank(x) == 2, shape(y) == shape(z) }";

/// Returns true if the rules state the same, with the same class.
bool is_one(std::vector<Rule> pair) { return distinct_rules(pair).size() == 1; }

/// Returns true if the rule of this text is equal to kRule.
bool says_it(llvm::StringRef text) {
  std::vector<Rule> one = test::rules_of(kRule), other = test::rules_of(text);
  EXPECT_FALSE(one.empty() || other.empty());
  return is_one({one.front(), other.front()});
}

TEST(DistinctRules, NamesAndTheOrderOfConditionsDoNotMatter) {
  EXPECT_TRUE(says_it(kRule));
  EXPECT_TRUE(says_it("rule two(b, c, a) { (a @ b) + (a @ c) => a @ (b + c)"
                      " where shape(b) == shape(c), rank(a) == 2 }"));
}

TEST(DistinctRules, AllElseDoes) {
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

TEST(DistinctRules, AttributesAreCompared) {
  std::vector<Rule> rules =
      test::rules_of("rule a(x, axis) { softmax(x, axis = axis) => exp(softmax(x, axis = axis)) }\n"
                     "rule b(y, k) { softmax(y, axis = k) => exp(softmax(y, axis = k)) }\n"
                     "rule c(y) { softmax(y, axis = 1) => exp(softmax(y, axis = 1)) }\n"
                     "rule d(y) { softmax(y, axis = 0) => exp(softmax(y, axis = 0)) }\n");
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_TRUE(is_one({rules[0], rules[1]}));
  EXPECT_FALSE(is_one({rules[1], rules[2]}));
  EXPECT_FALSE(is_one({rules[2], rules[3]}));
}

TEST(DistinctRules, KeepTheFirstOrTheUsers) {
  std::vector<Rule> rules = test::rules_of("rule a(x) { relu(relu(x)) => relu(x) }\n"
                                           "rule b(x, y) { x + y => y + x }\n"
                                           "rule c(z) { relu(relu(z)) => relu(z) }\n"
                                           "rule d(x, y) { x * y => y * x }\n");
  EXPECT_EQ(distinct_rules(rules), (std::vector<RuleId>{0, 1, 3}));
  rules[0].built_in = rules[1].built_in = true;
  EXPECT_EQ(distinct_rules(rules), (std::vector<RuleId>{2, 1, 3}));
  EXPECT_TRUE(distinct_rules({}).empty());
}

// --- dtypes --------------------------------------------------------------------------------------

/// Returns the dtypes that are drawn for the first variable of the left side.
std::string drawn(const std::string& text) {
  std::vector<Rule> rules = test::rules_of(text);
  if (rules.empty()) return "";
  RuleDTypes dtypes(rules[0]);
  std::mt19937_64 rng(1);
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) seen.insert(dtype_name(dtypes.draw(rng)[0]).str());
  std::string list;
  for (const std::string& name : seen) list += name + " ";
  return list + "usually " + dtype_name(dtypes.usual()[0]).str();
}

TEST(RuleDTypes, FollowFromOperatorsAndConditions) {
  EXPECT_EQ(drawn("rule r(x) { neg(neg(x)) => x }"), "bf16 f16 f32 f64 i32 i64 usually f32");
  EXPECT_EQ(drawn("rule r(x) { identity(x) => x }"), "bf16 bool f16 f32 f64 i32 i64 usually f32");
  EXPECT_EQ(drawn("rule r(x) { tanh(identity(x)) => tanh(x) }"), "bf16 f16 f32 f64 usually f32");
  EXPECT_EQ(drawn("rule r(x, y) { neg(x + y) => neg(x) + neg(y) where float(y) }"),
            "bf16 f16 f32 f64 usually f32");
  EXPECT_EQ(drawn("rule r(x) { neg(neg(x)) => x where not float(x) }"), "i32 i64 usually i64");
  EXPECT_EQ(drawn("rule r(c, x) { select(c, x, x) => x where same_type(x, x), rank(c) == 0 }"),
            "bool usually bool");
  EXPECT_EQ(drawn("rule r(x) { gather(x, gather(x, x)) => gather(gather(x, x), x) }"),
            "i32 i64 usually i64");
  // A literal has the dtype of the other operand, if that dtype can represent it.
  EXPECT_EQ(drawn("rule r(x) { x * 1 => x }"), "bf16 f16 f32 f64 i32 i64 usually f32");
  EXPECT_EQ(drawn("rule r(x) { x * 0.5 => x / 2 }"), "bf16 f16 f32 f64 usually f32");
}

TEST(RuleDTypes, KnowWhichTermsMayBeOfIntegers) {
  std::vector<Rule> rules = test::rules_of("rule a(x, y) { x / y => x * (1 / y) }\n"
                                           "rule b(x, y) { x / y => x * (1 / y) where float(x) }\n"
                                           "rule c(x, y) { x / exp(y) => x * (1 / exp(y)) }");
  ASSERT_EQ(rules.size(), 3u);
  for (const Rule& rule : rules)
    EXPECT_EQ(RuleDTypes(rule).may_be_integer(rule.lhs[0]), rule.name == "a") << rule.name;
}

} // namespace
} // namespace tg
