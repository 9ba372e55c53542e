// Tests that every strategy stops at its limits, with a sound result that is never worse
// than its input.
#include "bench/paper/pact24/pact24.h"
#include "bench/paper/pact24/published_costs.h"
#include "compiler/ir/graph.h"
#include "compiler/search/baselines/local.h"
#include "compiler/search/baselines/rollout.h"
#include "compiler/search/portfolio/portfolio.h"
#include "tests/unit/search/search_fixture.h"

namespace tg::paper {
namespace {

using test::kSumRules;
using test::rules_of;
using test::UnitCost;

struct Limits {
  size_t nodes = 400, memory_mb = 1'000;
  double seconds = 100;
  const Cancellation* cancel = nullptr;
};

struct Outcome {
  StopReason stop{};
  double before = 0, after = 0;
  size_t nodes = 0; // largest size of one e-graph
  std::string fault;
};

/// Uses the greedy value of a grown e-graph.
Outcome judged(StopReason stop, const EGraph& egraph, const Graph& source, PriceCache& prices) {
  ExtractOptions greedy;
  greedy.extractor = Extractor::Greedy;
  Result<ExtractedGraph> found = extract(egraph, source, prices, greedy);
  if (!found) return {stop, 0, 0, node_count(egraph), found.error().message};
  return {stop, price_graph(source, prices), found->cost_us, node_count(egraph),
          verify(egraph) + verify(found->graph)};
}

Outcome run_saturate(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                     const Limits& l) {
  EGraph egraph = egraph_of(graph);
  SaturateOptions options;
  options.node_limit = l.nodes, options.memory_limit_mb = l.memory_mb;
  options.time_limit_s = l.seconds, options.stop = StopToken(l.cancel);
  return judged(saturate(egraph, rules, options).stop, egraph, graph, prices);
}

Outcome run_random(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                   const Limits& l) {
  EGraph egraph = egraph_of(graph);
  RolloutOptions options;
  options.rollouts = 20, options.depth = 4;
  options.node_limit = l.nodes, options.memory_limit_mb = l.memory_mb;
  options.time_limit_s = l.seconds, options.stop = StopToken(l.cancel);
  ExtractOptions greedy;
  greedy.extractor = Extractor::Greedy;
  RolloutReport report = search_rollouts(egraph, rules, options, [&](const EGraph& state) {
    return extract(state, graph, prices, greedy)->cost_us;
  });
  return judged(report.stop, egraph, graph, prices);
}

class Shared final : public StatePrice {
public:
  Shared(const EGraph& egraph, PriceCache& prices) : prices_(egraph, prices) {}
  double price(const EGraph& egraph) override { return shared_greedy(egraph, prices_).cost_us; }
  void forget(llvm::ArrayRef<ENodeId> changed) override { prices_.forget(changed); }

private:
  NodePrices prices_;
};

Outcome run_pact24(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                   const Limits& l) {
  EGraph egraph = egraph_of(graph);
  Shared price(egraph, prices);
  Pact24Options options;
  options.budget = 8, options.depth = 3, options.max_decisions = 20;
  options.explore.node_limit = l.nodes, options.memory_limit_mb = l.memory_mb;
  options.time_limit_s = l.seconds, options.stop = StopToken(l.cancel);
  return judged(search_pact24(egraph, rules, options, price).stop, egraph, graph, prices);
}

Outcome run_mcts(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                 const Limits& l) {
  UnitCost model;
  PortfolioOptions options;
  options.mcts.budget = 8, options.segments = {2, 6, 6};
  options.mcts.explore.node_limit = options.saturate.node_limit = l.nodes;
  options.mcts.memory_limit_mb = options.saturate.memory_limit_mb = l.memory_mb;
  options.mcts.time_limit_s = options.saturate.time_limit_s = l.seconds;
  options.mcts.stop = options.saturate.stop = StopToken(l.cancel);
  PortfolioReport report = search_portfolio(graph, rules, model, options);
  return {report.stop, report.source_us, price_graph(report.graph, prices), report.most_nodes,
          verify(report.graph)};
}

Outcome run_local(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                  const Limits& l, bool taso) {
  LocalOptions options;
  options.budget = taso ? 20 : 60;
  options.explore.node_limit = l.nodes, options.memory_limit_mb = l.memory_mb;
  options.time_limit_s = l.seconds, options.stop = StopToken(l.cancel);
  LocalReport report = taso ? search_taso(graph, rules, prices, options)
                            : search_anneal(graph, rules, prices, options);
  return {report.stop, report.start_cost, price_graph(report.best, prices), report.most_nodes,
          verify(report.best)};
}

struct Strategy {
  const char* name;
  Outcome (*run)(const Graph&, llvm::ArrayRef<Rule>, PriceCache&, const Limits&);
};

const Strategy kStrategies[] = {
    {"saturate", run_saturate},
    {"random", run_random},
    {"mcts", run_mcts},
    {"pact24", run_pact24},
    {"anneal", [](const Graph& g, llvm::ArrayRef<Rule> r, PriceCache& p,
                  const Limits& l) { return run_local(g, r, p, l, false); }},
    {"taso", [](const Graph& g, llvm::ArrayRef<Rule> r, PriceCache& p,
                const Limits& l) { return run_local(g, r, p, l, true); }},
};

class StopsAt : public testing::TestWithParam<Strategy> {
protected:
  Outcome run(const Limits& limits) {
    Graph graph = test::layers(5);
    PriceCache prices(graph.symbols(), model_);
    Outcome out = GetParam().run(graph, rules_, prices, limits);
    EXPECT_EQ(out.fault, "");
    EXPECT_LE(out.after, out.before);
    return out;
  }

  UnitCost model_;
  std::vector<Rule> rules_ = rules_of(kSumRules);
};

TEST_P(StopsAt, TheMemoryLimit) { EXPECT_EQ(run({.memory_mb = 0}).stop, StopReason::Memory); }

TEST_P(StopsAt, TheTimeLimit) { EXPECT_EQ(run({.seconds = 0}).stop, StopReason::Time); }

TEST_P(StopsAt, AnInterrupt) {
  Cancellation cancel;
  cancel.request();
  EXPECT_EQ(run({.cancel = &cancel}).stop, StopReason::Cancelled);
}

TEST_P(StopsAt, TheNodeLimit) {
  EGraph source = egraph_of(test::layers(5));
  // The limit is checked before each application, so that one application may exceed it.
  constexpr size_t kOneApplication = 8;
  size_t limit = node_count(source) + 12;
  EXPECT_LE(run({.nodes = limit}).nodes, limit + kOneApplication);
  EXPECT_LE(run({.nodes = 1}).nodes, node_count(source) + kOneApplication);
}

TEST_P(StopsAt, NothingInTheWayItFindsSomething) {
  Outcome out = run({});
  EXPECT_LT(out.after, out.before);
  EXPECT_NE(out.stop, StopReason::Time);
  EXPECT_NE(out.stop, StopReason::Memory);
}

INSTANTIATE_TEST_SUITE_P(Search, StopsAt, testing::ValuesIn(kStrategies),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace tg::paper
