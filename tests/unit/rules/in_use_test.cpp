// Tests the rules of a search: rules of later operators are used only if the operator occurs.
#include "compiler/rules/book.h"
#include "tests/unit/rules/rule_fixture.h"

namespace tg::test {
namespace {

std::vector<std::string> used(llvm::ArrayRef<Rule> rules, std::vector<OpKind> present) {
  std::vector<bool> in_use = rules_in_use(
      rules, Numerics::Lossy, [&](OpKind op) { return llvm::is_contained(present, op); });
  std::vector<std::string> names;
  for (size_t i = 0; i < rules.size(); ++i)
    if (in_use[i]) names.push_back(rules[i].name);
  return names;
}

TEST(RulesInUse, WaitForTheOperatorsOfTheirLeftSides) {
  std::vector<Rule> rules = rules_of("rule move(f: unary, x, p) exact {\n"
                                     "  f(transpose(x, p)) => transpose(f(x), p)\n}\n");
  auto late = llvm::count_if(all_ops(), [](const OpInfo& info) {
    return info.has(Trait::Yields) && info.has(Trait::Pointwise) && info.operand_count == 1;
  });
  ASSERT_GT(late, 0);
  std::vector<std::string> without = used(rules, {});
  EXPECT_EQ(without.size() + static_cast<size_t>(late), rules.size());
  EXPECT_TRUE(llvm::is_contained(without, "move[relu]")) << "present or not";
  EXPECT_FALSE(llvm::is_contained(without, "move[mish]"));
  EXPECT_TRUE(llvm::is_contained(used(rules, {OpKind::Mish}), "move[mish]"));
  EXPECT_EQ(used(rules, {OpKind::Mish}).size(), without.size() + 1);
}

TEST(RulesInUse, IncludeRulesThatOtherRulesEnable) {
  std::vector<Rule> rules = rules_of("rule last(x) { -mish(x) => mish(-x) }\n"
                                     "rule middle(x) { x * tanh(softplus(x)) => mish(x) }\n"
                                     "rule first(x) { log(1 + exp(x)) => softplus(x) }\n");
  EXPECT_EQ(used(rules, {}).size(), rules.size());
  EXPECT_TRUE(used(llvm::makeArrayRef(rules).take_front(1), {}).empty());
}

} // namespace
} // namespace tg::test
