// Tests the default search as a whole: segments and equal segments, the same result
// with any number of threads, no worse result without any of its parts. Also tests the baselines.
#include "compiler/search/portfolio/portfolio.h"

#include "compiler/ir/graph.h"
#include "compiler/search/baselines/local.h"
#include "tests/unit/search/search_fixture.h"

namespace tg {
namespace {

using test::rules_of;
using test::UnitCost;

/// Fuse a bias, a residual and an activation, one after the other.
constexpr llvm::StringLiteral kRules = R"(
rule commutes(x, y) { x + y => y + x }
rule associates(x, y, z) { (x + y) + z => x + (y + z) }
rule doubles(x) { x + x => x * 2.0 }
rule relu_once(x) { relu(relu(x)) => relu(x) }
rule residual(a, b, r) { a @ b + r => matmul(a, b, residual = r) }
)";

PortfolioOptions small() {
  PortfolioOptions options;
  options.segments = {2, 4, 4};
  options.mcts.explore.node_limit = options.saturate.node_limit = 60;
  options.mcts.budget = 16;
  return options;
}

TEST(Segments, CoverTheNetworkAndPutItBackTogether) {
  Graph graph = test::layers(6);
  std::vector<NodeId> operators = run_operators(graph);
  std::vector<Segment> segments = cut_segments(graph, {2, 5, 3});
  uint32_t next = 0;
  for (Segment s : segments) {
    EXPECT_EQ(s.first, next);
    EXPECT_LE(s.last - s.first + 1, 5u);
    next = s.last + 1;
  }
  EXPECT_EQ(next, operators.size());
  std::vector<CutOut> places;
  for (Segment s : segments) places.push_back(cut_out(graph, operators, s));
  std::vector<Replacement> same;
  for (const CutOut& place : places) {
    EXPECT_EQ(verify(place.graph), "");
    same.push_back({&place, &place.graph});
  }
  EXPECT_EQ(difference(splice(graph, operators, segments, same), graph), "");
}

TEST(Segments, EqualLayersAreOne) {
  Graph graph = test::layers(6);
  std::vector<NodeId> operators = run_operators(graph);
  std::vector<Segment> segments = cut_segments(graph, {4, 4, 4});
  ASSERT_EQ(segments.size(), 6u);
  for (Segment s : segments)
    EXPECT_EQ(cut_out(graph, operators, s).key, cut_out(graph, operators, segments[0]).key);
}

TEST(Portfolio, FindsTheSameWithOneThreadAndTwo) {
  Graph graph = test::layers(6);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  PortfolioOptions options = small();
  PortfolioReport one = search_portfolio(graph, rules, model, options);
  options.threads = 2;
  PortfolioReport two = search_portfolio(graph, rules, model, options);
  EXPECT_LT(one.cost_us, one.source_us);
  EXPECT_EQ(one.cost_us, two.cost_us);
  EXPECT_EQ(difference(one.graph, two.graph), "");
  EXPECT_EQ(one.simulations, two.simulations);
  EXPECT_EQ(verify(one.graph), "");
}

/// The only search uses all threads.
TEST(Portfolio, FindsTheSameInOneSegment) {
  Graph graph = test::layers(4);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  PortfolioOptions options = small();
  options.use_segments = false;
  PortfolioReport one = search_portfolio(graph, rules, model, options);
  EXPECT_GT(one.simulations, 0u);
  for (int threads : {2, 4}) {
    options.threads = threads;
    PortfolioReport several = search_portfolio(graph, rules, model, options);
    EXPECT_EQ(one.cost_us, several.cost_us);
    EXPECT_EQ(difference(one.graph, several.graph), "");
    EXPECT_EQ(one.simulations, several.simulations);
  }
}

/// They cost more than the best and less than the source, and do not change the best.
TEST(Portfolio, OthersAreHandedOver) {
  Graph graph = test::layers(6);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  PortfolioOptions options = small();
  options.explain = true;
  PortfolioReport alone = search_portfolio(graph, rules, model, options);
  options.finalists = 8;
  PortfolioReport several = search_portfolio(graph, rules, model, options);
  EXPECT_TRUE(alone.finalists.empty());
  EXPECT_EQ(difference(alone.graph, several.graph), "");
  EXPECT_EQ(alone.simulations, several.simulations);
  ASSERT_FALSE(several.finalists.empty());
  double least = several.cost_us;
  for (const PortfolioFinalist& other : several.finalists) {
    EXPECT_EQ(verify(other.graph), "");
    EXPECT_GE(other.cost_us, least);
    EXPECT_LT(other.cost_us, several.source_us);
    EXPECT_FALSE(other.rules_applied.empty());
    EXPECT_TRUE(other.chain);
    least = other.cost_us;
  }
}

/// If saturation ends by itself, no other search runs. A product for both users costs more
/// than one, so that extractors that ignore sharing do not choose it.
TEST(Portfolio, ReturnsTheChoicesOfOtherExtractors) {
  Graph graph = test::shared_products(2);
  UnitCost model;
  model.cost = {{OpKind::Matmul, 10}, {OpKind::Split, 0.1}, {OpKind::Maximum, 0.5}};
  std::vector<Rule> rules = rules_of(R"(
rule shift(x) { relu(x) => maximum(x, 0.0) }
rule join(x, a, b) {
  x @ a, x @ b => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where rank(a) == rank(b)
}
)");
  PortfolioOptions options;
  options.finalists = 8;
  options.explain = true;
  options.mcts.explore.node_limit = 5'000;
  options.use_segments = options.use_focus = options.use_whole = false;
  PortfolioReport report = search_portfolio(graph, rules, model, options);
  EXPECT_LT(report.cost_us, 20);
  ASSERT_FALSE(report.finalists.empty());
  EXPECT_GT(report.finalists.front().cost_us, 20);
  EXPECT_EQ(report.finalists.front().rules_applied, (std::vector<RuleCount>{{"shift", 1}}));
}

TEST(Portfolio, StoppedAtOnceItReturnsTheSource) {
  Graph graph = test::layers(3);
  UnitCost model;
  Cancellation cancel;
  cancel.request();
  PortfolioOptions options = small();
  options.mcts.stop = options.saturate.stop = StopToken(&cancel);
  PortfolioReport report = search_portfolio(graph, rules_of(kRules), model, options);
  EXPECT_EQ(report.stop, StopReason::Cancelled);
  EXPECT_LE(report.cost_us, report.source_us);
  EXPECT_EQ(verify(report.graph), "");
}

/// On a machine that gives the search no time, rules with one pattern still apply.
TEST(Portfolio, FindsFusedOperatorsWithoutTime) {
  Graph graph = test::layers(3);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  PortfolioOptions options = small();
  options.explain = true;
  options.mcts.stop = options.saturate.stop = options.extract.stop = StopToken().within(0);
  options.mcts.time_limit_s = options.saturate.time_limit_s = 0;
  PortfolioReport report = search_portfolio(graph, rules, model, options);
  EXPECT_EQ(report.stop, StopReason::Time);
  EXPECT_LT(report.cost_us, report.source_us);
  EXPECT_EQ(verify(report.graph), "");
  EXPECT_TRUE(report.chain) << report.unexplained;
  EXPECT_TRUE(llvm::any_of(report.rules_applied, [](auto& row) { return row.rule == "residual"; }));
}

TEST(Portfolio, WithoutAnyOfItsPartsTheResultIsNeverWorse) {
  Graph graph = test::layers(4);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  for (int part = 0; part < 8; ++part) {
    PortfolioOptions o = small();
    bool* parts[] = {&o.use_priors,     &o.use_segments, &o.use_repeats,  &o.use_whole,
                     &o.use_saturation, &o.mcts.firing,  &o.use_thorough, &o.use_focus};
    *parts[part] = false;
    PortfolioReport report = search_portfolio(graph, rules, model, o);
    EXPECT_LE(report.cost_us, report.source_us) << part;
    EXPECT_EQ(verify(report.graph), "") << part;
  }
}

TEST(Local, FormerBestsAreHandedOver) {
  Graph graph = test::layers(3);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  for (auto* search : {search_taso, search_anneal}) {
    PriceCache prices(graph.symbols(), model);
    LocalOptions options;
    options.budget = search == search_taso ? 30 : 400;
    options.explain = true;
    LocalReport alone = search(graph, rules, prices, options);
    options.finalists = 2;
    LocalReport several = search(graph, rules, prices, options);
    EXPECT_TRUE(alone.finalists.empty());
    EXPECT_EQ(difference(alone.best, several.best), "");
    ASSERT_EQ(several.finalists.size(), 2u);
    double least = several.best_cost;
    for (const LocalFinalist& other : several.finalists) {
      EXPECT_EQ(verify(other.graph), "");
      EXPECT_GT(other.cost_us, least);
      EXPECT_LT(other.cost_us, several.start_cost);
      EXPECT_FALSE(other.rules_applied.empty());
      EXPECT_TRUE(other.last_move);
      least = other.cost_us;
    }
  }
}

TEST(Local, ReportsEachNewBest) {
  Graph graph = test::layers(2);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  PriceCache prices(graph.symbols(), model);
  std::vector<SearchProgress> told;
  LocalOptions options;
  options.budget = 60;
  options.progress = [&](const SearchProgress& progress) { told.push_back(progress); };
  for (auto search : {search_anneal, search_taso}) {
    told.clear();
    LocalReport report = search(graph, rules, prices, options);
    ASSERT_GT(told.size(), 1u);
    EXPECT_EQ(told.front().best_us, report.start_cost);
    EXPECT_EQ(told.back().best_us, report.best_cost);
    EXPECT_FALSE(told.back().rules.empty());
    EXPECT_GT(told.back().simulations, 0u);
  }
}

TEST(Local, BaselinesNeverReturnAnythingWorse) {
  Graph graph = test::layers(2);
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  PriceCache prices(graph.symbols(), model);
  LocalOptions options;
  options.budget = 60;
  LocalReport annealed = search_anneal(graph, rules, prices, options);
  LocalReport searched = search_taso(graph, rules, prices, options);
  for (const LocalReport* report : {&annealed, &searched}) {
    EXPECT_LT(report->best_cost, report->start_cost);
    EXPECT_EQ(verify(report->best), "");
    EXPECT_NEAR(price_graph(report->best, prices), report->best_cost, 1e-9);
  }
  LocalReport again = search_anneal(graph, rules, prices, options);
  EXPECT_EQ(difference(annealed.best, again.best), "");
}

} // namespace
} // namespace tg
