// Tests that states of an e-graph are recognised for any order of the actions that led to them.
#include "bench/paper/pact24/fingerprint.h"

#include "compiler/search/explorer.h"
#include "tests/unit/search/search_fixture.h"

namespace tg::paper {
namespace {

using test::rules_of;

/// Returns the fingerprint after all rules have been applied everywhere in this order.
uint64_t after(const Graph& graph, llvm::ArrayRef<Rule> rules, std::vector<RuleId> order) {
  EGraph egraph = egraph_of(graph);
  Explorer explorer(egraph, rules, {});
  explorer.rebuild();
  for (RuleId rule : order) EXPECT_GT(explorer.apply_everywhere(explorer.rule(rule)).applied, 0u);
  return fingerprint(egraph);
}

TEST(Fingerprint, DoesNotDependOnTheOrderOfActions) {
  Graph graph = test::layers(3);
  std::vector<Rule> rules = rules_of(test::kAlgebra);
  EXPECT_EQ(after(graph, rules, {0, 1}), after(graph, rules, {1, 0}));
  EXPECT_NE(after(graph, rules, {0}), after(graph, rules, {1}));
  EXPECT_NE(after(graph, rules, {0}), after(graph, rules, {0, 1}));
  EXPECT_NE(after(graph, rules, {}), after(graph, rules, {0}));
}

/// Actions at single places give the same state in any order, although nodes have other numbers.
TEST(Fingerprint, DoesNotDependOnTheOrderOfPlaces) {
  Graph graph = test::layers(4);
  std::vector<Rule> rules = rules_of(test::kAlgebra);
  auto state = [&](bool backwards) {
    EGraph egraph = egraph_of(graph);
    Explorer explorer(egraph, rules, {});
    explorer.rebuild();
    std::vector<Match> found;
    explorer.find_new(0, found);
    EXPECT_GT(found.size(), 4u);
    if (backwards) std::reverse(found.begin(), found.end());
    for (const Match& match : found) {
      explorer.apply(match);
      explorer.rebuild();
    }
    return fingerprint(egraph);
  };
  EXPECT_EQ(state(false), state(true));
}

TEST(Fingerprint, IsTheSameAfterGoingBackAndForth) {
  Graph graph = test::layers(2);
  std::vector<Rule> rules = rules_of(test::kAlgebra);
  EGraph egraph = egraph_of(graph);
  Explorer explorer(egraph, rules, {});
  explorer.rebuild();
  uint64_t before = fingerprint(egraph);
  Checkpoint root = egraph.checkpoint();
  explorer.apply_everywhere(explorer.rule(0));
  uint64_t there = fingerprint(egraph);
  Delta change = egraph.take_back(root);
  EXPECT_EQ(fingerprint(egraph), before);
  ASSERT_TRUE(egraph.redo(change));
  EXPECT_EQ(fingerprint(egraph), there);
}

} // namespace
} // namespace tg::paper
