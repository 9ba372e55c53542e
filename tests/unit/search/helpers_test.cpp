// Tests one tree search on several threads: simulations give the same results on any thread.
#include "compiler/search/mcts/board.h"

#include "compiler/ir/graph.h"
#include "compiler/search/mcts/mcts.h"
#include "compiler/search/shared_cost.h"
#include "tests/unit/search/search_fixture.h"

namespace tg {
namespace {

using test::rules_of;
using test::UnitCost;

constexpr llvm::StringLiteral kRules = R"(
rule commutes(x, y) { x + y => y + x }
rule associates(x, y, z) { (x + y) + z => x + (y + z) }
rule doubles(x) { x + x => x * 2.0 }
rule shift(x) { relu(x) => maximum(x, 0.0) }
rule together(x, a, b) {
  x @ a, x @ b => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where rank(a) == rank(b)
}
rule residual(a, b, r) { a @ b + r => matmul(a, b, residual = r) }
)";

struct Searched {
  MctsReport report;
  std::string egraph; // as text
  PriorTable learned;
};

Searched search(const Graph& graph, int threads, bool widen, uint64_t seed, bool history = false) {
  UnitCost unit;
  unit.cost[OpKind::Matmul] = 5;
  SharedCost shared(unit);
  std::vector<Rule> rules = rules_of(kRules);
  EGraph egraph = egraph_of(graph);
  if (history) egraph.record_history();
  PriceCache prices(egraph.symbols(), shared);
  MctsOptions options;
  options.explore.node_limit = 250, options.budget = 40, options.widen = widen;
  options.seed = seed, options.threads = threads, options.costs = &shared;
  StatisticsPolicy policy;
  Searched run{search_mcts(egraph, graph, rules, prices, options, policy), dump(egraph), {}};
  add_records(rules, run.report.records, run.learned);
  EXPECT_EQ(verify(egraph), "");
  return run;
}

void expect_same(const Searched& one, const Searched& other) {
  EXPECT_EQ(one.egraph, other.egraph);
  EXPECT_EQ(one.report.simulations, other.report.simulations);
  EXPECT_EQ(one.report.steps, other.report.steps);
  EXPECT_EQ(one.report.decisions, other.report.decisions);
  EXPECT_EQ(one.report.most_nodes, other.report.most_nodes);
  EXPECT_EQ(one.report.best_cost, other.report.best_cost);
  ASSERT_EQ(one.report.best.has_value(), other.report.best.has_value());
  if (one.report.best) {
    EXPECT_EQ(difference(one.report.best->graph, other.report.best->graph), "");
    EXPECT_EQ(one.report.best->rules, other.report.best->rules);
  }
  for (const auto& [name, record] : one.learned) {
    EXPECT_EQ(record.tried, other.learned.at(name).tried) << name;
    EXPECT_EQ(record.gain, other.learned.at(name).gain) << name;
  }
}

TEST(Helpers, TheirNumberChangesNothing) {
  for (const Graph& graph : {test::layers(4), test::shared_products(5)})
    for (bool widen : {false, true})
      for (uint64_t seed : {1, 2}) {
        Searched alone = search(graph, 1, widen, seed);
        EXPECT_GT(alone.report.simulations, 40u);
        EXPECT_LT(alone.report.best_cost, alone.report.start_cost);
        for (int threads : {2, 4}) {
          SCOPED_TRACE(testing::Message() << threads << " threads, seed " << seed);
          expect_same(alone, search(graph, threads, widen, seed));
        }
      }
}

TEST(Helpers, HaveTheirFindingsRecordedByTheOriginal) {
  Searched alone = search(test::layers(4), 1, true, 3, true),
           two = search(test::layers(4), 2, true, 3, true);
  expect_same(alone, two);
  ASSERT_TRUE(two.report.best && two.report.best->history && alone.report.best->history);
  EXPECT_EQ(two.report.best->history->applications, alone.report.best->history->applications);
}

} // namespace
} // namespace tg
