// Tests that the general rules derive TASO's rules. For each of the 139 rules of taso.tg,
// both sides are added to one e-graph at instances drawn from the rule's own conditions.
// The rules of core.tg then merge them within a few iterations.
//
// Also computes which of the 139 rules are equal, up to the names of their tensors,
// and compares them with the list in rules/DECISIONS.md. rules_fire_test.cpp tests
// that each rule fires.
#include "compiler/egraph/egraph.h"
#include "compiler/rules/instances/sample.h"
#include "compiler/rules/rule_form.h"
#include "compiler/search/saturate.h"
#include "tests/property/rules/library.h"

#include <llvm/Support/MemoryBuffer.h>

#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <map>
#include <set>

namespace tg {
namespace {

constexpr int kIterations = 5;
constexpr int kInstances = 2;
constexpr size_t kNodes = 20'000;

/// Adds both sides at the next instance at which the right side is well typed,
/// since the engine rejects other instances.
EGraph both_sides(const Rule& rule, RuleSampler& sampler, const std::shared_ptr<Symbols>& symbols) {
  for (int draws = 0; draws < 1000; ++draws) {
    std::optional<RuleInstance> instance = sampler.draw(20000);
    if (!instance) break;
    Graph graph(symbols);
    std::vector<NodeId> nodes;
    std::vector<TermId> roots(rule.lhs.begin(), rule.lhs.end());
    roots.insert(roots.end(), rule.rhs.begin(), rule.rhs.end());
    bool typed = true;
    for (size_t i = 0; i < roots.size() && typed; ++i) {
      NodeId id = build_term(graph, rule, *instance, roots[i], nodes);
      typed = id.valid();
      if (typed) graph.add_output("y" + std::to_string(i), id);
    }
    if (typed) return egraph_of(graph);
  }
  ADD_FAILURE() << "no instance of " << rule_text(rule);
  return EGraph(symbols);
}

/// Returns the number of iterations until the roots of both sides are equal,
/// or nullopt if they never are.
std::optional<int> derive(llvm::ArrayRef<Rule> general, EGraph& egraph) {
  SaturateOptions options;
  options.iterations = options.multi_iterations = 1;
  options.node_limit = kNodes;
  options.cycle_filter = CycleFilter::None;
  size_t results = egraph.roots().size() / 2;
  for (int i = 0; i <= kIterations; ++i) {
    bool equal = results > 0;
    for (size_t side = 0; side < results; ++side)
      equal &=
          egraph.find(egraph.roots()[side].id) == egraph.find(egraph.roots()[results + side].id);
    if (equal) return i;
    saturate(egraph, general, options);
  }
  return std::nullopt;
}

TEST(Taso, GeneralRulesDeriveEachRule) {
  std::vector<Rule> general = test::library({"core"});
  ASSERT_FALSE(general.empty());
  std::set<std::string> declared;
  std::map<int, size_t> needing; // number of rule forms by iterations
  for (const Rule& rule : test::library({"taso"})) {
    auto symbols = std::make_shared<Symbols>();
    RuleSampler sampler(*symbols, rule, /*seed=*/3);
    declared.insert(rule.declared);
    int needed = 0;
    for (int i = 0; i < kInstances; ++i) {
      EGraph egraph = both_sides(rule, sampler, symbols);
      std::string source = dump(egraph);
      std::optional<int> iterations = derive(general, egraph);
      EXPECT_TRUE(iterations) << rule_text(rule) << "\n" << source;
      needed = std::max(needed, iterations.value_or(kIterations + 1));
    }
    ++needing[needed];
  }
  EXPECT_EQ(declared.size(), 139u);
  for (auto [iterations, rules] : needing)
    std::printf("%zu forms of rules in %d iterations\n", rules, iterations);
}

/// Shows that the test can fail: without the laws of core.tg, some rules are not derived.
TEST(Taso, SomeRulesNeedTheLawsOfCore) {
  std::vector<Rule> general = test::library({"default"}), rules = test::library({"taso_059"});
  ASSERT_FALSE(rules.empty());
  auto symbols = std::make_shared<Symbols>();
  RuleSampler sampler(*symbols, rules[0], /*seed=*/3);
  bool derived = true;
  for (int i = 0; i < 8; ++i) {
    EGraph egraph = both_sides(rules[0], sampler, symbols);
    derived &= derive(general, egraph).has_value();
  }
  EXPECT_FALSE(derived);
}

std::string listed(llvm::ArrayRef<Rule> rules) {
  std::string list;
  for (const Repetition& r : repetitions(rules))
    list += (list.empty() ? "" : ", ") + r.declared + (r.whole ? " = " : " < ") + r.of;
  return list;
}

/// Returns true if rules/DECISIONS.md contains the text.
bool in_decisions(const std::string& wanted) {
  auto page = llvm::MemoryBuffer::getFile(TG_SOURCE_DIR "/rules/DECISIONS.md");
  EXPECT_TRUE(page);
  if (!page) return false;
  std::string text; // the text without its line breaks
  for (char c : (*page)->getBuffer())
    if (!std::isspace(static_cast<unsigned char>(c)))
      text += c;
    else if (!llvm::StringRef(text).endswith(" "))
      text += ' ';
  return text.find("`" + wanted + "`") != std::string::npos;
}

/// rules/DECISIONS.md lists exactly the rules that repeat another one.
TEST(Taso, RepetitionsAreListed) {
  std::string list = listed(test::library({"taso"}));
  EXPECT_TRUE(in_decisions(list)) << list;
}

TEST(RuleLibrary, NothingInTheDefaultIsSaidTwice) {
  EXPECT_EQ(listed(test::library({"default"})), "");
  std::string list = listed(test::library({"core"}));
  EXPECT_TRUE(in_decisions(list)) << list;
}

} // namespace
} // namespace tg
