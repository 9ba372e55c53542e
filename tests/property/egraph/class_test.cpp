// Tests that the class of numerics that each library rule states is not stronger
// than the class that follows from its operators (compiler/rules/numerics/derived_class.h),
// and that the rule names the operands that must be finite.
#include "compiler/rules/numerics/derived_class.h"
#include "lang/syntax/parse.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

namespace tg {

namespace {

std::string lacking(const Rule& rule, const ClassDerivation::Derived& derived) {
  std::string names;
  for (uint32_t variable : must_be_finite(derived, rule.numerics))
    if (!llvm::is_contained(rule.finite, variable)) names += " " + rule.class_var_names[variable];
  return names;
}

TEST(RuleClasses, EveryRuleOfTheLibraryStatesNoMoreThanItsOperatorsSay) {
  size_t rules = 0;
  for (const Rule& rule : test::library()) {
    if (rule.native != Native::No) continue;
    ++rules;
    ClassDerivation::Derived derived = derive_class(rule);
    EXPECT_TRUE(rule.stated) << rule.name;
    EXPECT_LE(derived.numerics, rule.numerics)
        << rule_text(rule) << "\nis " << numerics_name(derived.numerics).str() << ": "
        << derived.why;
    EXPECT_EQ(lacking(rule, derived), "") << rule_text(rule) << " has to assume them finite";
  }
  EXPECT_GT(rules, 500u);
}

Rule rule_from(llvm::StringRef text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("rule.tg", text.str() + "\n");
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return rules.empty() ? Rule() : rules[0];
}

struct Case {
  const char* text; // a rule without a class
  Numerics numerics;
  const char* finite = ""; // operands that must be finite for it
};

constexpr Case kCases[] = {
    // preserved by floats
    {"(x) { relu(relu(x)) => relu(x) }", Numerics::Exact},
    {"(x) { x + x => 2 * x }", Numerics::Exact},
    {"(x, y) { -(x * y) => x * (-y) }", Numerics::Exact},
    {"(x) { relu(max_pool2d(x, kernel = 3)) => max_pool2d(relu(x), kernel = 3) }", Numerics::Exact},
    {"(x) { cast(relu(x), f16) => relu(cast(x, f16)) }", Numerics::Exact},
    {"(x, y, z) { x + (y + z) => (x + y) + z where not float(x) }", Numerics::Exact},
    {"(x, y, z) { select(x < y, z, z) => z where same_type(x, y), same_type(x, z) }",
     Numerics::Exact},
    // rounded at other places
    {"(x, w, b) { matmul(x, w) + b => matmul(x, w, bias = b) where rank(b) == 1, "
     "dim(b, 0) == dim(w, -1) }",
     Numerics::Reassociates},
    {"(x, y, z) { x * z - y * z => (x - y) * z }", Numerics::Reassociates},
    {"(x) { 1 / (1 + exp(-x)) => sigmoid(x) }", Numerics::Reassociates},
    {"(x) { reduce_mean(reduce_mean(x, axes = [3]), axes = [2]) => reduce_mean(x, axes = [2, 3]) }",
     Numerics::Reassociates},
    {"(x) { x / 10 => x * 0.1 where float(x) }", Numerics::Reassociates},
    // cancellation, or larger intermediate terms
    {"(x) { x * 0 => zeros(shape(x)) }", Numerics::Risky},
    {"(x) { x - x => zeros(shape(x)) }", Numerics::Risky},
    {"(x, y) { x * y / y => x where same_type(x, y), float(x) }", Numerics::Risky},
    {"(x, y) { exp(x) / exp(y) => exp(x - y) }", Numerics::Risky},
    {"(x, y) { x + y => (x + 1000) + (y - 1000) where float(x) }", Numerics::Risky},
    {"(x, y) { not (x >= y) => x < y }", Numerics::Risky},
    {"(x) { argmax(x + 0.1, axis = 0) => argmax(x, axis = 0) }", Numerics::Risky},
    {"(x) { sigmoid(x) => 1 / (1 + exp(-x)) }", Numerics::Risky},
    // digits of small numbers that are lost in a sum with 1
    {"(x) { log1p(x) => log(1 + x) }", Numerics::Risky},
    {"(x) { expm1(x) => exp(x) - 1 }", Numerics::Risky},
    {"(x) { softplus(x) => relu(x) + log(1 + exp(-abs(x))) }", Numerics::Risky},
    {"(x) { log(1 + x) => log1p(x) where float(x) }", Numerics::Reassociates},
    {"(x) { exp(x) - 1 => expm1(x) }", Numerics::Reassociates},
    {"(x) { expm1(x) + 1 => exp(x) }", Numerics::Reassociates},
    {"(x) { relu(x) + log1p(exp(-abs(x))) => softplus(x) }", Numerics::Reassociates},
    // an overflow or NaN that is multiplied by zero
    {"(x) { 0 * tanh(tanh(tanh(tanh(x)))) => 0 * expm1(x) where float(x) }", Numerics::Risky},
    {"(x) { tanh(x) => tanh(x) + 0 * exp(x) where finite(x) }", Numerics::Risky, "x"},
    {"(x) { tanh(x) => tanh(x) + 0 * expm1(x) where finite(x) }", Numerics::Risky, "x"},
    {"(x) { tanh(x) => tanh(x) + 0 * softplus(x) where finite(x) }", Numerics::Risky, "x"},
    {"(x) { tanh(x) => tanh(x) + 0 * elu(x) where finite(x) }", Numerics::Risky, "x"},
    {"(x) { tanh(x) => tanh(x) + 0 * log(x) where finite(x) }", Numerics::Risky, "x"},
    {"(x) { tanh(x) => tanh(x) + cast(0 * (x * x) < 1, f32) * 0 where finite(x) }", Numerics::Risky,
     "x"},
    {"(x) { x * 0 => 0 * (x * x * x * x) where float(x) }", Numerics::Risky},
    {"(x, y) { x + y => (x + y) + 0 * (x * y) where float(x), finite(x), finite(y) }",
     Numerics::Risky, "xy"},
    {"(x, y) { x * y => (x * y) + 0 * relu(x) where finite(x) }", Numerics::Exact, "x"},
    {"(x, y) { x * y => (x * y) + 0 * (x * y) where not float(x) }", Numerics::Exact},
    {"(x) { tanh(x) + 0 * (x * x) => tanh(x) where finite(x) }", Numerics::Reassociates, "x"},
    // exponentials inside other expressions
    {"(x) { sigmoid(x) => 1 / (2 + expm1(-x)) }", Numerics::Risky},
    {"(x) { sigmoid(x) => fused_map([x, 1.0], body = \"div($1, add($1, exp(neg($0))))\") }",
     Numerics::Risky},
    {"(x) { exp(x) * sigmoid(x) => exp(x) * (1 / (1 + exp(-x))) }", Numerics::Risky},
    // narrowed by a cast
    {"(x) { cast(cast(x, f16), f32) => x }", Numerics::Lossy},
    {"(x) { cast(cast(x, f32), i64) => x }", Numerics::Lossy},
    {"(x) { cast(cast(x, i32), f32) => x }", Numerics::Lossy},
    {"(x, y) { x @ y => cast(cast(x, f16) @ cast(y, f16), f32) }", Numerics::Lossy},
    // infinities
    {"(x, w) { conv2d(x, w) => conv2d(x, merge_gconv(w, count = 2, groups = dim(x, 1) / "
     "dim(w, 1))) where dim(w, 1) < dim(x, 1), dim(x, 1) / dim(w, 1) % 2 == 0 }",
     Numerics::Exact, "x"},
};

TEST(RuleClasses, FollowFromTheOperators) {
  for (const Case& c : kCases) {
    Rule rule = rule_from(std::string("rule r") + c.text);
    ASSERT_FALSE(rule.lhs.empty()) << c.text;
    EXPECT_EQ(numerics_name(rule.numerics).str(), numerics_name(c.numerics).str()) << c.text;
    std::string finite;
    for (uint32_t variable : rule.finite) finite += rule.class_var_names[variable];
    EXPECT_EQ(finite, c.finite) << c.text;
  }
}

} // namespace

} // namespace tg
