// Tests that every library rule is true: on random instances, drawn from the rule's own types
// and conditions, both sides are built as graphs and evaluated in float64.
// A rule without instances fails, as does one whose right side is never well typed.
#include "compiler/ir/evaluate.h"
#include "compiler/rules/instances/sample.h"
#include "lang/syntax/parse.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg {

namespace {

constexpr size_t kInstances = 60; // instances at which both sides are well typed
constexpr size_t kDraws = 4000;
constexpr size_t kAttempts = 20000; // for one draw
constexpr double kTolerance = 1e-9; // relative to the largest element

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += "  " + line + "\n";
  return text;
}

/// Returns true if the values are equal within the tolerance, with NaN and infinities
/// at the same places.
bool same_values(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, double tolerance) {
  if (a.size() != b.size()) return false;
  double largest = 0;
  for (double x : b)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      if (std::abs(a[i] - b[i]) > tolerance * largest) return false;
    } else if (!(std::isnan(a[i]) && std::isnan(b[i])) && a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

/// Draws numbers of both signs, or only positive ones, for which roots and quotients
/// are well conditioned.
LeafSource leaves(uint64_t seed, bool all_positive) {
  return random_leaves(seed, [=](llvm::StringRef name) {
    return all_positive || name == "variance"; // the operand of a root is never negative
  });
}

/// The result for a rule: the number of compared instances, and the first difference.
struct Verdict {
  size_t compared = 0;
  std::string counterexample;
};

/// Compares both sides at one instance, and updates the verdict. An ill-typed right side
/// is not a difference, since the engine rejects such a match.
void compare_at(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
                const RuleInstance& instance, uint64_t seed, Verdict& verdict) {
  Graph graph(symbols);
  std::vector<NodeId> nodes, wanted;
  for (TermId root : rule.lhs) wanted.push_back(build_term(graph, rule, instance, root, nodes));
  for (TermId root : rule.rhs) wanted.push_back(build_term(graph, rule, instance, root, nodes));
  size_t results = rule.lhs.size();
  for (size_t i = 0; i < results; ++i) {
    ASSERT_TRUE(wanted[i].valid()) << "the left side is ill-typed at its own instance";
    if (!wanted[results + i].valid()) return;
  }
  ++verdict.compared;
  std::string where = lines(describe(*symbols, rule, instance)) + dump(graph);
  for (bool positive : {false, true}) {
    auto values = evaluate(graph, leaves(seed, positive), wanted);
    ASSERT_TRUE(values.ok()) << rule.name;
    double tolerance = rule.numerics == Numerics::Exact ? 0 : kTolerance;
    for (size_t i = 0; i < results; ++i)
      if (graph.node(wanted[i]).type != graph.node(wanted[results + i]).type ||
          !same_values((*values)[i], (*values)[results + i], tolerance))
        verdict.counterexample = "result " + std::to_string(i) + " differs, leaves from seed " +
                                 std::to_string(seed) + ", with\n" + where;
  }
}

Verdict judge(const Rule& rule) {
  Verdict verdict;
  auto symbols = std::make_shared<Symbols>();
  RuleSampler sampler(*symbols, rule, /*seed=*/7);
  for (uint64_t i = 0; i < kDraws && verdict.compared < kInstances; ++i) {
    std::optional<RuleInstance> instance = sampler.draw(kAttempts);
    if (!instance || !verdict.counterexample.empty()) break;
    compare_at(rule, symbols, *instance, i, verdict);
  }
  return verdict;
}

class EveryRule : public testing::TestWithParam<Rule> {};

TEST_P(EveryRule, HoldsOnRandomInstances) {
  const Rule& rule = GetParam();
  Verdict verdict = judge(rule);
  EXPECT_EQ(verdict.counterexample, "") << rule_text(rule);
  if (verdict.counterexample.empty()) {
    EXPECT_EQ(verdict.compared, kInstances) << rule_text(rule);
  }
}

std::vector<Rule> pattern_rules() {
  std::vector<Rule> rules;
  for (Rule& rule : test::library())
    if (rule.native == Native::No) rules.push_back(std::move(rule));
  return rules;
}

INSTANTIATE_TEST_SUITE_P(Library, EveryRule, testing::ValuesIn(pattern_rules()), [](auto& info) {
  std::string name;
  for (char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + "_" + std::to_string(info.index);
});

/// Rules that look right and are wrong. Each must be refuted, which shows that the test above can
/// fail.
const char* const kWrong[] = {
    "rule r(x, y) { x - y => y - x }", "rule r(x, y) { x @ y => y @ x where shape(x) == shape(y) }",
    "rule r(x, y, s) { (x @ y) * s => (x * s) @ y where rank(s) == 1, dim(s, 0) == dim(x, -1), "
    "dim(y, -1) == dim(x, -1) }",
    // as published: the groups of both sides may differ
    R"(rule r(x, y, a, b) {
      concat([conv2d(x, a, bias = none, residual = none, ..),
              conv2d(y, b, bias = none, residual = none, ..)], axis = 1)
        => conv2d(concat([x, y], axis = 1), concat([a, b], axis = 0), ..)
      where dim(x, 1) == dim(y, 1), dim(a, 1) == dim(b, 1) })",
    // with `same`, a larger window moves if the stride is not 1
    R"(rule r(x, w) { conv2d(x, w, pad = same, ..)
        => conv2d(x, enlarge(w, [dim(w, 2) + 2, dim(w, 3) + 2]), pad = same, ..) })",
    // padding adds zeros, not the shift
    R"(rule r(x, w, c) {
      conv2d(x + c, w, pad = same) => conv2d(x, w, pad = same) + c where rank(c) == 0 })",
    "rule r(x, p, q) { transpose(transpose(x, p), q) => transpose(x, compose(p, q)) "
    "where rank(x) == 3, dim(x, 0) == dim(x, 1), dim(x, 1) == dim(x, 2) }",
    "rule r(x, w, b, s) { matmul(x, w, bias = b) * s => matmul(x, w * s, bias = b) where rank(s) "
    "== 0 }",
    "rule r(x) { relu(-x) => -relu(x) }",
    "rule r(x, w) { matmul(relu(x), w) => relu(matmul(x, w)) }",
    "rule r(x) { avg_pool2d(x, count_padding = false, ..) => avg_pool2d(x, count_padding = true, "
    "..) }",
    "rule r(x, w) { conv2d(x, w, act = none, ..) => conv2d(x, w, act = tanh, ..) }",
    "rule r(x, axis, a, b) { slice(x, axis, a, b) => slice(x, axis, 0, b - a) }",
    "rule r(x, y, z) exact { (x + y) + z => x + (y + z) }", // true, but not exact
};

TEST(RuleLibrary, WrongRulesAreRefuted) {
  for (const char* text : kWrong) {
    SourceManager sources;
    DiagnosticSink sink;
    FileId file = sources.add("wrong.tg", std::string(text) + "\n");
    std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    ASSERT_FALSE(rules.empty()) << text;
    EXPECT_NE(judge(rules[0]).counterexample, "") << text;
  }
}

TEST(RuleLibrary, LoadsAndIsLarge) {
  std::vector<Rule> rules = test::library();
  std::vector<std::string> declared;
  for (const Rule& rule : rules)
    if (declared.empty() || declared.back() != rule.declared) declared.push_back(rule.declared);
  EXPECT_GE(declared.size(), 40u);
}

} // namespace
} // namespace tg
