// Tests that every library rule keeps the class of numerics that it states, computed in f32,
// f16 and bf16 against float64. An `exact` rule gives the same elements on both sides,
// up to the sign of zero. The right side of a rule that `reassociates` has errors within the bound
// for roundings of the left side's terms. bench/rule_errors_bench lists the errors themselves.
#include "lang/syntax/parse.h"
#include "tests/property/rules/library.h"
#include "tests/property/rules/rule_error_bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg {

namespace {

constexpr size_t kInstances = 16;

/// The results of a rule in all dtypes together.
struct Seen {
  size_t instances = 0;
  bool same_bits = true, bounded = true, known = true;
  double worst = 0; // largest error of the right side, in units of the left side's bound
  std::string where;
};

/// Returns true if a constant of the instance is so small that products with it leave the normal
/// range.
bool underflows(const RuleErrorCase& at) {
  double least = std::sqrt(at.dtype == DType::F16 ? 0x1p-14 : 0x1p-126);
  for (uint32_t i = 0; i < at.graph.size(); ++i) {
    if (at.graph.node({i}).op != OpKind::Constant) continue;
    for (double x : at.graph.attr({i}, 0).reals)
      if (x != 0 && std::abs(x) < least) return true;
  }
  return false;
}

Seen look(const Rule& rule, ErrorScale scale = ErrorScale::Element) {
  Seen seen;
  RuleErrorOptions options;
  options.instances = kInstances;
  options.mixed = true;
  seen.instances = for_each_error_case(rule, options, [&](const RuleErrorCase& at) {
    bool same = at.same_bits();
    seen.same_bits &= same;
    if (rule.numerics == Numerics::Exact) {
      if (!same && seen.where.empty()) seen.where = dtype_name(at.dtype).str() + dump(at.graph);
      return;
    }
    // In f16, small numbers beside large ones are below the normal range, which is not rounding.
    if ((at.mixed && at.dtype == DType::F16) || underflows(at)) return;
    std::optional<double> error = right_error_in_bounds(at, scale);
    if (!error && seen.known) seen.where = dump(at.graph);
    seen.known &= error.has_value();
    if (!error) return;
    seen.worst = std::max(seen.worst, *error / static_cast<double>(right_roundings(at)));
    if (*error <= static_cast<double>(right_roundings(at))) return;
    if (seen.bounded) seen.where = dtype_name(at.dtype).str() + dump(at.graph);
    seen.bounded = false;
  });
  return seen;
}

/// Returns the scale for a rule's class: docs/rules.md.
ErrorScale grade(const Rule& rule) {
  return rule.declared == "winograd_tile_4" ? ErrorScale::Largest : ErrorScale::Element;
}

TEST(RuleNumerics, EveryRuleKeepsItsClass) {
  for (const Rule& rule : test::library()) {
    if (rule.native != Native::No) continue;
    Seen seen = look(rule, grade(rule));
    EXPECT_GT(seen.instances, 0u) << rule.name;
    if (rule.numerics == Numerics::Exact) {
      EXPECT_TRUE(seen.same_bits) << rule_text(rule) << seen.where;
    } else if (rule.numerics == Numerics::Reassociates) {
      EXPECT_TRUE(seen.known) << rule_text(rule) << "has an operator without a bound in "
                              << seen.where;
      EXPECT_TRUE(seen.bounded) << rule_text(rule) << seen.worst << " in " << seen.where;
    }
  }
}

Rule rule_from(llvm::StringRef text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("wrong.tg", text.str() + "\n");
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return rules.empty() ? Rule() : rules[0];
}

/// As rules/winograd.tg states, results of tiles of 4 have errors relative to the largest numbers
/// around them (within the bound above), not to their own.
TEST(RuleNumerics, MinimalFilteringErrsByTheLargestOfATile) {
  size_t rules = 0;
  for (const Rule& rule : test::library()) {
    if (grade(rule) == ErrorScale::Element) continue;
    ++rules;
    EXPECT_FALSE(look(rule, ErrorScale::Element).bounded) << rule.name;
  }
  EXPECT_EQ(rules, 1u);
}

/// Equal in float64, bit for bit. Only the number of roundings in the dtype differs.
TEST(RuleNumerics, RoundingLessOftenIsNotExact) {
  for (const char* text : {"rule r(x, w) exact { gelu(x @ w) => matmul(x, w, act = gelu) }",
                           "rule r(x, w, b) exact { matmul(x, w) + b => matmul(x, w, bias = b) "
                           "where rank(b) == 1, dim(b, 0) == dim(w, -1) }"}) {
    Seen seen = look(rule_from(text));
    EXPECT_GT(seen.instances, 0u) << text;
    EXPECT_FALSE(seen.same_bits) << text;
  }
}

/// True, and within rounding in float64, but with terms that are much larger than the result.
TEST(RuleNumerics, LargerTermsAreNotAReassociation) {
  for (const char* text : {"rule r(x, y) reassociates { x + y => (x + 1000) + (y - 1000) }",
                           "rule r(x, y) reassociates { x * y => (x + 64) * y - y * 64 }"}) {
    Seen seen = look(rule_from(text));
    EXPECT_GT(seen.instances, 0u) << text;
    EXPECT_FALSE(seen.bounded) << text << seen.worst;
    EXPECT_FALSE(look(rule_from(text), ErrorScale::Largest).bounded) << text;
  }
}

} // namespace
} // namespace tg
