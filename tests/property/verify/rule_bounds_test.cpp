// Tests bounds of the integer arithmetic of rules (rules/instances/bounds.h):
// values and differences at instances are within them, and enough bounds are finite
// for the rules by kind.
#include "compiler/rules/eval.h"
#include "compiler/rules/from_ast.h"
#include "compiler/rules/instances/bounds.h"
#include "compiler/rules/instances/instance.h"
#include "compiler/rules/text.h"
#include "compiler/verify/verify_rule.h"
#include "lang/syntax/parse.h"
#include "tests/property/verify/rules_by_kind.h"

#include <gtest/gtest.h>

namespace tg::test {
namespace {

constexpr size_t kEvery = 12; // one rule by kind in kEvery
constexpr size_t kInstances = 30;

std::vector<Rule> rules_of(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  return rules_from_ast(parse(sources, sources.add("rule.tg", text + "\n"), sink), sources, sink);
}

/// Returns the integer value of an expression at an instance, or nullopt if it has another kind.
std::optional<int64_t> integer_at(Symbols& symbols, const Rule& rule, const RuleInstance& instance,
                                  ExprIndex at) {
  std::optional<Value> v = evaluate_value({rule, symbols, instance.values, instance}, at);
  return v && v->is(Value::Kind::Int) ? std::optional(v->number) : std::nullopt;
}

/// Checks the bounds of all expressions. Returns the number of finite ones.
size_t check(const Rule& rule) {
  RuleBounds bounds(rule);
  std::vector<RuleBounds::Range> ranges;
  size_t finite = 0;
  for (ExprIndex at = 0; at < rule.exprs.size(); ++at) {
    ranges.push_back(bounds.range(at));
    finite +=
        ranges.back().low > -RuleBounds::kUnbounded || ranges.back().high < RuleBounds::kUnbounded;
  }
  RuleCheckOptions options;
  options.instances = kInstances;
  visit_instances(rule, options, [&](Symbols& symbols, const RuleInstance& instance) {
    for (ExprIndex at = 0; at < rule.exprs.size(); ++at)
      if (std::optional<int64_t> n = integer_at(symbols, rule, instance, at)) {
        EXPECT_TRUE(ranges[at].low <= *n && *n <= ranges[at].high)
            << rule_text(rule) << ": " << expr_text(rule, at) << " is " << *n << ", bounds "
            << static_cast<int64_t>(ranges[at].low) << " to "
            << static_cast<int64_t>(ranges[at].high);
      }
  });
  return finite;
}

TEST(RuleBounds, ValuesLieWithin) {
  size_t finite = 0, seen = 0;
  for (const std::vector<KindRule>& kind : {true_rules(), false_rules()})
    for (const KindRule& rule : kind)
      if (seen++ % kEvery == 0)
        for (const Rule& form : rules_of(rule.text)) finite += check(form);
  EXPECT_GE(finite, 200u);
}

/// A condition does not imply that its quotients have values: a quotient has one only
/// without a remainder.
TEST(RuleBounds, ACaseThatAConditionAdmitsIsWithin) {
  for (const char* where : {"dim(x, 0) % 2 == 1 or dim(x, 0) / 2 >= 2", "dim(x, 0) // 3 == 0",
                            "not (dim(x, 0) % 4 == 3)", "max(dim(x, 0), 5) - dim(x, 0) <= 3",
                            "dim(x, 0) * dim(x, 0) <= 30", "abs(dim(x, 0) - 7) == 2"})
    for (const Rule& rule :
         rules_of(std::string("rule r(x) { relu(relu(x)) => relu(x) * "
                              "max(dim(x, 0), 1) where rank(x) >= 1, float(x), ") +
                  where + " }"))
      check(rule);
}

} // namespace
} // namespace tg::test
