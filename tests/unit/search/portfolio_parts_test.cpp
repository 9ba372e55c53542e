// Tests the purpose of single parts of the portfolio, and that its results repeat.
#include "compiler/ir/graph.h"
#include "compiler/search/portfolio/portfolio.h"
#include "tests/unit/search/search_fixture.h"

namespace tg {
namespace {

using test::rules_of;
using test::UnitCost;

/// A path of four steps, of which only the last pays, among rules that fill any e-graph.
constexpr llvm::StringLiteral kLongWay = R"(
rule commutes(x, y) { x + y => y + x }
rule associates(x, y, z) { (x + y) + z => x + (y + z) }
rule first(x) { relu(x) => tanh(x) }
rule second(x) { tanh(x) => sigmoid(x) }
rule third(x) { sigmoid(x) => exp(x) }
rule fourth(x) { exp(x) => abs(x) }
)";

/// A sum of many relus. No e-graph here can hold all its orders.
Graph sums(int count) {
  test::Builder b;
  NodeId sum = b.x("x", {4, 8});
  for (int i = 0; i < count; ++i)
    sum = b.op(OpKind::Add, {sum, b.op(OpKind::Relu, {b.x("y" + std::to_string(i), {4, 8})})});
  b.output(sum);
  return std::move(b.graph);
}

PortfolioOptions hurried() {
  PortfolioOptions options;
  options.segments = {4, 14, 14};
  options.mcts.explore.node_limit = options.saturate.node_limit = 300;
  options.mcts.budget = 1, options.mcts.depth = 1, options.mcts.patience = 1;
  options.saturate.iterations = 1;
  options.extract.extractor = Extractor::GreedyDag; // no solver, no clock
  options.use_focus = false;
  return options;
}

TEST(Portfolio, ThoroughSweepsFindLongWaysOfWhichOnlyTheEndPays) {
  Graph graph = sums(8);
  UnitCost model;
  model.cost = {{OpKind::Abs, 0.1}};
  std::vector<Rule> rules = rules_of(kLongWay);
  PortfolioOptions options = hurried();
  PortfolioReport thorough = search_portfolio(graph, rules, model, options);
  options.use_thorough = false;
  PortfolioReport without = search_portfolio(graph, rules, model, options);
  EXPECT_EQ(verify(thorough.graph), "");
  EXPECT_LT(thorough.cost_us, without.cost_us);
}

/// Merges two products of the same operand.
constexpr llvm::StringLiteral kJoins = R"(
rule join(x, a, b) {
  x @ a, x @ b => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where rank(a) == rank(b)
}
)";

/// With three products, the first iteration merges any two, and the second merges the result
/// with the third.
TEST(Portfolio, GoesOnWithRulesOfSeveralPatternsWhereSaturationEnds) {
  Graph graph = test::shared_products(3);
  UnitCost model;
  model.cost = {{OpKind::Matmul, 10}, {OpKind::Split, 0.1}};
  std::vector<Rule> rules = rules_of(kJoins);
  PortfolioOptions options;
  options.saturate.multi_iterations = 1;
  options.mcts.explore.node_limit = 5'000;
  options.use_segments = options.use_focus = options.use_whole = false; // only saturation
  options.explain = true;
  PortfolioReport report = search_portfolio(graph, rules, model, options);
  size_t products = 0;
  for (uint32_t i = 0; i < report.graph.size(); ++i)
    products += report.graph.reachable()[i] && report.graph.node({i}).op == OpKind::Matmul;
  EXPECT_EQ(products, 1u);
  EXPECT_EQ(verify(report.graph), "");
  EXPECT_TRUE(report.chain) << report.unexplained;
  ASSERT_FALSE(report.bounds.empty());
  EXPECT_TRUE(report.bounds.front().optimal());
  EXPECT_TRUE(report.bounds.front().saturated);
  EXPECT_GE(report.bounds.front().multi_iterations, 2);
}

/// For e-graphs that saturate or not, small and large ones.
TEST(Portfolio, TheResultHasABound) {
  UnitCost model;
  model.cost = {{OpKind::Abs, 0.1}};
  std::vector<Rule> rules = rules_of(kLongWay);
  for (int count : {1, 8})
    for (size_t limit : {300, 3000}) {
      PortfolioOptions options = hurried();
      options.extract.extractor = Extractor::Ilp;
      options.mcts.explore.node_limit = options.saturate.node_limit = limit;
      PortfolioReport report = search_portfolio(sums(count), rules, model, options);
      ASSERT_FALSE(report.bounds.empty()) << count << " " << limit;
      for (const GraphBound& bound : report.bounds) {
        EXPECT_GT(bound.lower_us, 0);
        EXPECT_LE(bound.lower_us, report.cost_us * (1 + 1e-9));
        EXPECT_NEAR(bound.best_us, report.cost_us, 1e-9);
        EXPECT_GT(bound.nodes, 0u);
      }
    }
}

TEST(Portfolio, FindsMatchesAcrossCutsByLongerSegments) {
  test::Builder b;
  NodeId x = b.x("x", {4, 8});
  for (int i = 0; i < 12; ++i) x = b.op(OpKind::Tanh, {x});
  b.output(x);
  UnitCost model;
  std::vector<Rule> six =
      rules_of("rule six(x) { tanh(tanh(tanh(tanh(tanh(tanh(x)))))) => relu(x) }");
  PortfolioOptions options = hurried();
  options.segments = {2, 4, 4}; // no segment contains six, but segments of 1.5 times the size do
  options.use_saturation = options.use_whole = false; // only sweeps
  PortfolioReport report = search_portfolio(b.graph, six, model, options);
  EXPECT_EQ(report.cost_us, 2);
  EXPECT_EQ(verify(report.graph), "");
  options.use_thorough = false;
  EXPECT_EQ(search_portfolio(b.graph, six, model, options).cost_us, 12);
}

TEST(Portfolio, TheFocusSearchesTheSourceWithTheRulesThatPaidAlone) {
  Graph graph = sums(7);
  UnitCost model;
  model.cost = {{OpKind::Abs, 0.1}};
  std::vector<Rule> rules = rules_of(kLongWay);
  for (bool focus : {true, false}) {
    PortfolioOptions options = hurried();
    SearchTrace trace;
    options.mcts.trace = &trace;
    options.use_focus = focus;
    options.extract.extractor = Extractor::Ilp;
    options.slice_s = 0.2;
    PortfolioReport report = search_portfolio(graph, rules, model, options);
    EXPECT_LT(report.cost_us, report.source_us);
    bool seen = llvm::any_of(trace.applications, [](const SearchTrace::Application& a) {
      return llvm::StringRef(a.where).startswith("whole network, rules with gains");
    });
    EXPECT_EQ(seen, focus);
    // Rules keep their numbers, although only a few took part.
    for (const SearchTrace::Application& a : trace.applications) EXPECT_LT(a.rule, rules.size());
  }
}

/// Duplicates would only share the turns of the first. The numbers of the other rules do not
/// change.
TEST(Portfolio, RulesThatRepeatOthersAreLeftOut) {
  Graph graph = sums(8);
  UnitCost model;
  model.cost = {{OpKind::Abs, 0.1}};
  std::vector<Rule> rules = rules_of(kLongWay), repeated = rules;
  Rule again = rules[2];
  again.name = "again";
  repeated.insert(repeated.begin() + 3, again);
  PortfolioOptions options = hurried();
  options.explain = true;
  PortfolioReport one = search_portfolio(graph, rules, model, options);
  PortfolioReport other = search_portfolio(graph, repeated, model, options);
  EXPECT_EQ(difference(one.graph, other.graph), "");
  EXPECT_EQ(one.simulations, other.simulations);
  EXPECT_EQ(one.rules_applied, other.rules_applied);
  ASSERT_EQ(other.rules.size(), repeated.size());
  EXPECT_EQ(other.rules[3].matches, 0u);
  EXPECT_GT(other.rules[6].applied, 0u) << "the last one, which pays";
  ASSERT_TRUE(one.chain && other.chain);
  ASSERT_EQ(one.chain->steps.size(), other.chain->steps.size());
  for (auto [a, b] : llvm::zip(one.chain->steps, other.chain->steps))
    EXPECT_EQ(rules[a.rule].name, repeated[b.rule].name);
}

MctsReport search_shared_products(MctsOptions options) {
  Graph graph = test::shared_products(6);
  EGraph egraph = egraph_of(graph);
  UnitCost model;
  model.cost = {{OpKind::Matmul, 5}};
  PriceCache prices(egraph.symbols(), model);
  StatisticsPolicy policy;
  options.explore.node_limit = 300;
  return search_mcts(egraph, graph, rules_of(kJoins), prices, options, policy);
}

TEST(Mcts, SpendsMoreSimulationsOnPromisingFirstDecisions) {
  MctsOptions options;
  options.budget = 64, options.simulation_patience = 8, options.promising_patience = 64;
  MctsReport promising = search_shared_products(options);
  ASSERT_LT(promising.best_cost, promising.start_cost * (1 - options.promising_gain));
  options.promising_gain = 1;
  MctsReport never = search_shared_products(options);
  EXPECT_GT(promising.simulations, never.simulations);
  EXPECT_LE(promising.best_cost, never.best_cost);
  options.promising_gain = 0, options.promising_decisions = 0;
  EXPECT_EQ(search_shared_products(options).simulations, never.simulations);
}

TEST(Mcts, EndsAfterOneDecisionWhereNothingWasEverGained) {
  Graph graph = sums(6);
  EGraph egraph = egraph_of(graph);
  UnitCost model;
  PriceCache prices(egraph.symbols(), model);
  RandomPolicy policy;
  MctsOptions options;
  options.explore.node_limit = 1000, options.patience = 5;
  MctsReport report = search_mcts(egraph, graph, rules_of(kLongWay), prices, options, policy);
  EXPECT_EQ(report.best_cost, report.start_cost);
  EXPECT_EQ(report.stop, StopReason::Iterations);
  EXPECT_EQ(report.decisions, 1);
}

TEST(Mcts, TracesNamePlaces) {
  Graph graph = test::layers(3);
  EGraph egraph = egraph_of(graph);
  UnitCost model;
  PriceCache prices(egraph.symbols(), model);
  std::vector<Rule> rules = rules_of(kLongWay);
  RandomPolicy policy;
  SearchTrace trace;
  MctsOptions options;
  options.trace = &trace;
  options.explore.node_limit = 200;
  search_mcts(egraph, graph, rules, prices, options, policy);
  std::set<std::string> places;
  for (const SearchTrace::TreeNode& node : trace.tree)
    if (node.rule != kSourceRule) places.insert(node.where);
  EXPECT_TRUE(places.count("")) << "rules everywhere";
  EXPECT_TRUE(places.count("relu f32[8, 16] of w1")) << "one place";
}

TEST(Portfolio, ReportsRunningSearchesAndTheBound) {
  Graph graph = sums(10);
  UnitCost model;
  model.cost = {{OpKind::Abs, 0.1}};
  std::vector<Rule> rules = rules_of(kLongWay);
  for (int threads : {1, 2}) {
    std::vector<SearchProgress> told;
    PortfolioOptions options = hurried();
    options.mcts.budget = 16;
    options.saturate.multi_iterations = 1, options.saturate.iterations = 30;
    options.extract.extractor = Extractor::Best;
    options.threads = threads;
    options.progress = [&](const SearchProgress& progress) { told.push_back(progress); };
    PortfolioReport report = search_portfolio(graph, rules, model, options);
    auto within = [&](size_t i) {
      return told[i].where == told[i - 1].where && told[i].simulations > told[i - 1].simulations;
    };
    size_t grown = 0, bounded = 0;
    for (size_t i = 1; i < told.size(); ++i) {
      grown += within(i), bounded += told[i].bound_us > 0;
      EXPECT_LE(told[i].bound_us, told[i].best_us);
      EXPECT_LE(told[i].best_us, told[i - 1].best_us);
    }
    EXPECT_GT(grown, 0u);
    EXPECT_GT(bounded, 1u) << "not in the end alone";
    EXPECT_EQ(told.back().best_us, report.cost_us);
    EXPECT_EQ(told.back().nodes, report.most_nodes);
    EXPECT_EQ(told.back().simulations, report.simulations);
    ASSERT_FALSE(report.bounds.empty());
    EXPECT_EQ(told.back().bound_us, std::min(report.bounds.front().lower_us, report.cost_us));
  }
}

TEST(Portfolio, WithoutRoomForAnyRuleTheNodeLimitStoppedIt) {
  Graph graph = sums(10);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kLongWay);
  PortfolioOptions options = hurried();
  for (size_t nodes : {1, 300}) {
    options.mcts.explore.node_limit = options.saturate.node_limit = nodes;
    PortfolioReport report = search_portfolio(graph, rules, model, options);
    EXPECT_EQ(report.stop, nodes == 1 ? StopReason::Nodes : StopReason::Saturated);
  }
}

/// For any stop except by the clock, only options and seed determine the result.
TEST(Portfolio, BudgetsAndNodeLimitsGiveTheSameOnAnyNumberOfThreads) {
  Graph graph = sums(10);
  UnitCost model;
  model.cost = {{OpKind::Abs, 0.1}};
  std::vector<Rule> rules = rules_of(kLongWay);
  for (size_t nodes : {60, 150, 400})
    for (uint64_t seed : {1, 7}) {
      PortfolioOptions options = hurried();
      options.mcts.budget = 6, options.mcts.depth = 3;
      options.mcts.explore.node_limit = options.saturate.node_limit = nodes;
      options.mcts.seed = seed;
      options.use_focus = true;
      PortfolioReport one = search_portfolio(graph, rules, model, options);
      PortfolioReport again = search_portfolio(graph, rules, model, options);
      options.threads = 2;
      PortfolioReport two = search_portfolio(graph, rules, model, options);
      for (const PortfolioReport* other : {&again, &two}) {
        EXPECT_EQ(difference(one.graph, other->graph), "") << nodes << " nodes, seed " << seed;
        EXPECT_EQ(one.cost_us, other->cost_us);
        EXPECT_EQ(one.simulations, other->simulations);
        EXPECT_EQ(one.rules_applied, other->rules_applied);
      }
    }
}

} // namespace
} // namespace tg
