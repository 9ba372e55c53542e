// Tests that random rollouts leave the e-graph in the best state that they visited.
#include "compiler/search/baselines/rollout.h"

#include "tests/unit/egraph/egraph_fixture.h"

namespace tg {
namespace {

using test::Builder;
using test::rules_of;

/// Only an expansion makes the short form reachable. A greedy step would never expand.
constexpr llvm::StringLiteral kRules = R"(
rule commute(x, y) { x + y => y + x }
rule associate(x, y, z) { (x + y) + z => x + (y + z) }
rule fold(f: activation, x) { f(x) + f(x) => f(x) * 2.0 }
rule undo(x) { tanh(x) * tanh(x) => tanh(x) }
)";

EGraph start() {
  Builder b;
  NodeId x = b.x("x", {8}), y = b.x("y", {8});
  NodeId t = b.op(OpKind::Tanh, {x});
  b.output(b.op(OpKind::Add, {b.op(OpKind::Add, {t, y}), t}));
  return egraph_of(b.graph);
}

/// Prices states with more nodes in the root's class lower.
double fewer_is_dearer(const EGraph& egraph) {
  return 100.0 - egraph.eclass(egraph.find(egraph.roots()[0].id)).node_count;
}

TEST(Rollout, LeavesTheGraphInTheBestStateFound) {
  EGraph egraph = start();
  RolloutOptions options;
  options.rollouts = 20;
  RolloutReport report = search_rollouts(egraph, rules_of(kRules), options, fewer_is_dearer);
  EXPECT_EQ(report.rollouts, 20);
  EXPECT_LT(report.best_cost, report.start_cost);
  EXPECT_EQ(fewer_is_dearer(egraph), report.best_cost);
  EXPECT_EQ(node_count(egraph), report.nodes);
  EXPECT_EQ(*std::min_element(report.costs.begin(), report.costs.end()), report.best_cost);
  EXPECT_EQ(verify(egraph), "");
  EXPECT_TRUE(acyclic(egraph));
}

TEST(Rollout, ComesBackExactlyWhenNothingIsBetter) {
  EGraph egraph = start();
  Cycles(egraph).break_cycles();
  EGraph before(egraph);
  RolloutOptions options;
  options.rollouts = 30;
  RolloutReport report =
      search_rollouts(egraph, rules_of(kRules), options, [](const EGraph&) { return 1.0; });
  EXPECT_EQ(report.best_rollout, -1);
  EXPECT_GT(report.steps, 30u);
  std::string why;
  EXPECT_TRUE(same_state(egraph, before, &why)) << why;
}

TEST(Rollout, TheSeedDecides) {
  auto run = [](uint64_t seed) {
    EGraph egraph = start();
    RolloutOptions options;
    options.seed = seed;
    options.rollouts = 4;
    options.depth = 3;
    options.step_matches = 1;
    search_rollouts(egraph, rules_of(kRules), options, fewer_is_dearer);
    return dump(egraph);
  };
  EXPECT_EQ(run(1), run(1));
  bool differs = false;
  for (uint64_t seed = 2; seed < 12; ++seed) differs |= run(seed) != run(1);
  EXPECT_TRUE(differs);
}

TEST(Rollout, KeepsTheNodeLimit) {
  EGraph egraph = start();
  RolloutOptions options;
  options.node_limit = 12;
  options.depth = 100;
  search_rollouts(egraph, rules_of(kRules), options, fewer_is_dearer);
  EXPECT_LE(node_count(egraph), 12u + 3);
}

} // namespace
} // namespace tg
