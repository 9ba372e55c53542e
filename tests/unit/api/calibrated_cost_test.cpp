// Tests the calibrated price model over a backend with invented times: a price query times nothing,
// the operators that decide a choice are timed, and a search starts again when prices change.
#include "compiler/pricing/calibrated_cost.h"

#include "compiler/api/calibration/calibration.h"
#include "compiler/extract/cost/price_features.h"
#include "compiler/ir/graph.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/optimizer/refined_search.h"
#include "loading.h"
#include "made_up_backend.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/FileSystem.h>

#include <set>

namespace tg {
namespace {

class CalibratedCostTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-calibrated", folder_));
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder_); }

  std::unique_ptr<CalibratedCost> model() {
    MeasuredCostOptions options;
    options.cost_db = folder_.str().str() + "/costs.db";
    options.network_bytes = 16 << 20;
    return std::make_unique<CalibratedCost>(
        std::make_unique<MeasuredCost>(std::make_unique<MadeUpBackend>(timer), options),
        *find_device_profile("cpu"));
  }
  OwnedInstance read(const std::string& key) {
    auto found = read_instance(symbols, key);
    EXPECT_TRUE(found) << key;
    return *found;
  }

  MadeUpTimer timer;
  Symbols symbols;

private:
  llvm::SmallString<128> folder_;
};

TEST_F(CalibratedCostTest, AskingForPricesTimesNothing) {
  OwnedInstance relu = read("relu(f32[1048576])");
  auto costs = model();
  EXPECT_GT(costs->price(symbols, relu.instance()), 0);
  EXPECT_EQ(timer.timed, 0u);
  EXPECT_EQ(costs->name(), "calibrated:made_up");
}

TEST_F(CalibratedCostTest, TimesAndKeepsPricesThatMatter) {
  OwnedInstance large = read("relu(f32[1048576])"), small = read("relu(f32[16])");
  timer.times["relu(f32[1048576])"] = 777;
  {
    auto costs = model();
    PriceUse uses[] = {{large.instance(), 1}, {small.instance(), 1}};
    EXPECT_TRUE(costs->refine_prices(symbols, uses, 1000, {}));
    EXPECT_EQ(timer.timed, 1u) << "the small one cannot matter";
    EXPECT_EQ(costs->price(symbols, large.instance()), 777);
    EXPECT_FALSE(costs->refine_prices(symbols, uses, 1000, {}))
        << "nothing is left to be found out";
    EXPECT_EQ(timer.timed, 1u);
  }
  EXPECT_EQ(model()->price(symbols, large.instance()), 777) << "kept in the database";
  EXPECT_EQ(model()->samples(), 1u);
}

TEST_F(CalibratedCostTest, DoesNotTimeOperatorsWithPreciseGuesses) {
  auto costs = model();
  std::vector<OwnedInstance> kept;
  for (int64_t n : {4000, 5000, 6000, 7000, 9000, 10000, 11000, 12000})
    kept.push_back(read("relu(f32[" + std::to_string(n * 100) + "])"));
  std::vector<OpInstance> instances;
  for (const OwnedInstance& one : kept) instances.push_back(one.instance());
  EXPECT_EQ(costs->time(symbols, instances, {}).size(), 8u);
  size_t before = timer.timed;
  OwnedInstance between = read("relu(f32[800000])");
  PriceUse uses[] = {{between.instance(), 1}};
  double guessed = costs->guess(symbols, between.instance()).microseconds;
  EXPECT_FALSE(costs->refine_prices(symbols, uses, 100 * guessed, {}));
  EXPECT_EQ(timer.timed, before);
}

/// A guess with a large error in both directions has a mean above its median.
TEST_F(CalibratedCostTest, UnsureGuessesArePricedByTheirMean) {
  auto costs = model();
  OwnedInstance unseen = read("relu(f32[800000])");
  PriceGuess guess = costs->guess(symbols, unseen.instance());
  EXPECT_GT(guess.deviation, 0.5) << "nothing was timed";
  EXPECT_EQ(costs->price(symbols, unseen.instance()), guess.mean_us());
  EXPECT_GT(guess.mean_us(), 1.1 * guess.microseconds);
}

TEST_F(CalibratedCostTest, PricesOperatorsThatCannotBeTimedAsInfinite) {
  OwnedInstance large = read("relu(f32[1048576])");
  timer.refused.insert("relu(f32[1048576])");
  auto costs = model();
  PriceUse uses[] = {{large.instance(), 1}};
  EXPECT_TRUE(costs->refine_prices(symbols, uses, 1000, {}));
  EXPECT_TRUE(std::isinf(costs->price(symbols, large.instance())));
}

TEST_F(CalibratedCostTest, ASurpriseIsTimedAgainAndTheLesserTimeCounts) {
  auto costs = model();
  std::vector<OwnedInstance> kept;
  for (int64_t n = 50; n < 80; ++n)
    kept.push_back(read("relu(f32[" + std::to_string(n * 10000) + "])"));
  std::vector<OpInstance> instances;
  for (const OwnedInstance& one : kept) instances.push_back(one.instance());
  (void)costs->time(symbols, instances, {});
  OwnedInstance disturbed = read("relu(f32[655000])");
  std::string key = "relu(f32[655000])";
  double usual = costs->guess(symbols, disturbed.instance()).microseconds;
  timer.first_times[key] = 20 * usual; // disturbed by other programs
  timer.times[key] = usual;
  (void)costs->time(symbols, disturbed.instance(), {});
  EXPECT_NEAR(costs->price(symbols, disturbed.instance()), usual, 1e-6 * usual);
  EXPECT_EQ(costs->measured().unsettled(), 0u) << "the second time is kept";
  costs = model();
  EXPECT_NEAR(costs->price(symbols, disturbed.instance()), usual, 1e-6 * usual);
}

TEST_F(CalibratedCostTest, CountsUnsteadyPricesOnce) {
  OwnedInstance relu = read("relu(f32[1048576])");
  std::string key = "relu(f32[1048576])";
  timer.first_times[key] = 500;
  timer.times[key] = 600; // steady, but higher: the first time is kept
  auto costs = model();
  (void)costs->time(symbols, relu.instance(), {});
  costs->measured().time_again(symbols, relu.instance(), {});
  EXPECT_EQ(costs->measured().unsettled(), 1u);
  EXPECT_EQ(costs->price(symbols, relu.instance()), 500);
}

TEST_F(CalibratedCostTest, NothingIsTimedOnceTheTimeIsOver) {
  OwnedInstance large = read("relu(f32[1048576])");
  auto costs = model();
  PriceUse uses[] = {{large.instance(), 1}};
  EXPECT_FALSE(costs->refine_prices(symbols, uses, 1000, StopToken().within(0)));
  EXPECT_EQ(timer.timed, 0u);
}

TEST_F(CalibratedCostTest, ATimeInPlaceIsThePriceAndIsKept) {
  OwnedInstance relu = read("relu(f32[1048576])");
  timer.times["relu(f32[1048576])"] = 777;
  PlacedTime placed{relu.instance(), 900};
  {
    auto costs = model();
    (void)costs->time(symbols, relu.instance(), {});
    EXPECT_EQ(costs->price(symbols, relu.instance()), 777);
    EXPECT_TRUE(costs->needs_placed_times(symbols, relu.instance()));
    costs->learn_placed(symbols, placed, TimeTrust::Steady);
    EXPECT_EQ(costs->price(symbols, relu.instance()), 900);
    EXPECT_FALSE(costs->needs_placed_times(symbols, relu.instance()));
    PlacedTime later{relu.instance(), 1000};
    costs->learn_placed(symbols, later, TimeTrust::Steady);
    EXPECT_EQ(costs->price(symbols, relu.instance()), 900) << "prices are of one moment";
    PriceUse use{relu.instance(), 1};
    EXPECT_EQ(costs->refine_prices(symbols, use, 1000, {}), 0) << "nothing is left to be found out";
  }
  auto again = model();
  EXPECT_FALSE(again->needs_placed_times(symbols, relu.instance()));
  EXPECT_EQ(again->price(symbols, relu.instance()), 900);
  EXPECT_EQ(again->samples(), 2u) << "in place and alone";
}

TEST_F(CalibratedCostTest, DoesNotKeepUnsteadyPlacedTimes) {
  OwnedInstance relu = read("relu(f32[1048576])");
  PlacedTime placed{relu.instance(), 900};
  for (TimeTrust trust : {TimeTrust::Passing, TimeTrust::Unconfirmed}) {
    {
      auto costs = model();
      costs->learn_placed(symbols, placed, trust);
      EXPECT_EQ(costs->price(symbols, relu.instance()), 900)
          << "it holds as long as the model lives";
    }
    EXPECT_TRUE(model()->needs_placed_times(symbols, relu.instance()));
    EXPECT_EQ(model()->samples(), 0u);
  }
}

TEST_F(CalibratedCostTest, ResultOfTwoSearchesIsKeptUnderLightLoad) {
  OwnedInstance relu = read("relu(f32[1048576])"), tanh = read("tanh(f32[1048576])");
  auto placed = [&](OwnedInstance& of, double us) {
    PlacedTime time{of.instance(), us};
    model()->learn_placed(symbols, time, TimeTrust::Unconfirmed);
  };
  placed(relu, 900);
  placed(tanh, 900);
  placed(tanh, 2000);
  placed(relu, 950);
  auto costs = model();
  EXPECT_FALSE(costs->needs_placed_times(symbols, relu.instance()));
  EXPECT_EQ(costs->price(symbols, relu.instance()), 900) << "others only ever add";
  EXPECT_TRUE(costs->needs_placed_times(symbols, tanh.instance()));
  EXPECT_EQ(costs->samples(), 1u);
  placed(tanh, 2100); // confirms 2000
  EXPECT_EQ(model()->price(symbols, tanh.instance()), 2000);
}

/// A program that computes all the time disturbs the next run, too. The model's own
/// numbers recur as well. So repetition does not confirm such a time.
TEST_F(CalibratedCostTest, NeverKeepsPassingTimes) {
  OwnedInstance relu = read("relu(f32[1048576])");
  PlacedTime slow{relu.instance(), 2000};
  for (int i = 0; i < 3; ++i) model()->learn_placed(symbols, slow, TimeTrust::Passing);
  EXPECT_TRUE(model()->needs_placed_times(symbols, relu.instance()));
  model()->learn_placed(symbols, slow, TimeTrust::Unconfirmed);
  EXPECT_TRUE(model()->needs_placed_times(symbols, relu.instance())) << "those confirm nothing";
  model()->learn_placed(symbols, slow, TimeTrust::Passing);
  EXPECT_TRUE(model()->needs_placed_times(symbols, relu.instance())) << "nor does this";
}

/// If operators are half as slow again in place, the prices of operators that were timed alone, or
/// not at all, rise by the same factor: all prices are times in place.
TEST_F(CalibratedCostTest, GuessesAreOfTimesInPlaceOnceThereAreAny) {
  constexpr double kRatio = 1.5;
  auto costs = model();
  std::vector<OwnedInstance> kept;
  for (int64_t n = 50; n < 80; ++n)
    kept.push_back(read("relu(f32[" + std::to_string(n * 10000) + "])"));
  std::vector<OpInstance> instances;
  for (const OwnedInstance& one : kept) instances.push_back(one.instance());
  (void)costs->time(symbols, instances, {});
  double alone = costs->price(symbols, instances[15]);
  OwnedInstance unseen = read("relu(f32[655000])");
  double guessed = costs->price(symbols, unseen.instance());
  std::vector<PlacedTime> placed;
  for (size_t i : {2U, 8U, 22U, 28U})
    placed.push_back({instances[i], kRatio * costs->price(symbols, instances[i])});
  costs->learn_placed(symbols, placed, TimeTrust::Steady);
  EXPECT_NEAR(costs->price(symbols, instances[15]), kRatio * alone, 0.05 * alone);
  EXPECT_NEAR(costs->price(symbols, unseen.instance()), kRatio * guessed, 0.05 * guessed);
}

/// The model learns from times in the networks of a calibration. The time of an operator in the
/// present network still has to be measured there.
TEST_F(CalibratedCostTest, DoesNotUsePlacedTimesOfCalibrationNetworksElsewhere) {
  OwnedInstance relu = read("relu(f32[1048576])");
  double before = model()->price(symbols, relu.instance());
  model()
      ->measured()
      .open_placed(kBlockLayout)
      ->store(CostRow{"relu(f32[1048576])", 20 * before, ""});
  auto costs = model();
  EXPECT_EQ(costs->samples(), 1u);
  EXPECT_TRUE(costs->needs_placed_times(symbols, relu.instance()));
  EXPECT_GT(costs->price(symbols, relu.instance()), 4 * before);
  PlacedTime placed{relu.instance(), 500};
  costs->learn_placed(symbols, placed, TimeTrust::Steady);
  EXPECT_EQ(costs->price(symbols, relu.instance()), 500);
}

/// Returns the times in place that a test sets, by instance key; for other instances, their price.
class PlacingRunner final : public FinalistRunner {
public:
  llvm::StringMap<double> times;
  double speed = 1;             // of the machine, from the second call on
  std::vector<size_t> asked_of; // number of graphs in each call
  Result<WholeRuns> compare(const Graph&, const Graph&) override {
    return error(Code::no_kernel, "nothing is run");
  }
  Result<std::vector<PlacedNodes>> time_in_place(const Graph& source, const Graph* other) override {
    double slow = asked_of.empty() ? 1 : 1 / speed;
    asked_of.push_back(other ? 2 : 1);
    std::vector<PlacedNodes> out;
    for (const Graph* graph : {&source, other}) {
      if (!graph) continue;
      PlacedNodes& placed = out.emplace_back();
      placed.trust = TimeTrust::Steady;
      GraphInstances of = instances_of(*graph);
      for (size_t i = 0; i < of.nodes.size(); ++i) {
        auto said = times.find(instance_key(graph->symbols(), of.instances[i]));
        placed.nodes.push_back({of.nodes[i], slow * (said == times.end() ? 1 : said->second)});
      }
    }
    return out;
  }
};

struct RefinedSearch : test::Loading {
  MadeUpTimer timer;
  double refine_time_s = OptimizeOptions().refine_time_s;
  bool search_on = false;
  Graph source = load("model m(x: f32[256, 256]) -> (y: f32[256, 256]) {\n"
                      "  param w: f32[256, 256]\n  relu(x @ w)\n}\n");

  // A file with this path cannot be created, so that all rows stay in memory.
  Optimized optimised(FinalistRunner* runner = nullptr, std::string file = "/dev/null/none") {
    MeasuredCostOptions options;
    options.cost_db = std::move(file);
    CalibratedCost costs(
        std::make_unique<MeasuredCost>(std::make_unique<MadeUpBackend>(timer), options),
        *find_device_profile("cpu"));
    OptimizeOptions how;
    how.refine_time_s = refine_time_s;
    how.search_on = search_on;
    Result<Optimized> result = optimize(source, rules(), costs, how, runner);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
};

TEST_F(RefinedSearch, RestartsIfTheResultCostsMoreThanGuessed) {
  timer.times["matmul(f32[256, 256], w f32[256, 256], none, none) {act = relu}"] = 1e6;
  Optimized result = optimised();
  EXPECT_GE(result.report.searches, 2u);
  EXPECT_FALSE(result.report.changed()) << "the fused product was a guess, and a wrong one";
  EXPECT_EQ(result.report.cost_after_us, result.report.cost_before_us);
}

TEST_F(RefinedSearch, TakesTheCheaperGraphOnceTimed) {
  timer.times["matmul(f32[256, 256], w f32[256, 256], none, none) {act = none}"] = 500;
  timer.times["relu(f32[256, 256])"] = 100;
  timer.times["matmul(f32[256, 256], w f32[256, 256], none, none) {act = relu}"] = 501;
  Optimized result = optimised();
  EXPECT_TRUE(result.report.changed());
  EXPECT_EQ(result.report.cost_before_us, 600);
  EXPECT_EQ(result.report.cost_after_us, 501);
}

constexpr const char* kProduct = "matmul(f32[256, 256], w f32[256, 256], none, none) {act = none}";
constexpr const char* kRelu = "relu(f32[256, 256])";
constexpr const char* kFused = "matmul(f32[256, 256], w f32[256, 256], none, none) {act = relu}";

TEST_F(RefinedSearch, OperatorsArePricedWhereTheyRun) {
  PlacingRunner runner;
  runner.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 510}};
  runner.speed = 0.5; // the times of the result are scaled to the speed at which the source was
                      // timed
  Optimized result = optimised(&runner);
  EXPECT_EQ(result.report.cost_before_us, 600);
  EXPECT_NEAR(result.report.cost_after_us, 510, 1e-6);
  EXPECT_EQ(runner.asked_of, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(result.report.graphs_placed, 2u);
  EXPECT_EQ(timer.timed, 0u) << "no operator is timed alone";
}

TEST_F(RefinedSearch, RestartsIfTheResultCostsMoreInPlace) {
  PlacingRunner runner;
  runner.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 900}};
  Optimized result = optimised(&runner);
  EXPECT_GE(result.report.searches, 2u);
  EXPECT_FALSE(result.report.changed());
  EXPECT_EQ(result.report.cost_after_us, 600);
}

TEST_F(RefinedSearch, ARunnerThatCannotTimeLeavesItToOperatorsAlone) {
  struct CannotTime final : FinalistRunner {
    Result<WholeRuns> compare(const Graph&, const Graph&) override {
      return error(Code::no_kernel, "nothing is run");
    }
  } cannot;
  timer.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 501}};
  Optimized result = optimised(&cannot);
  EXPECT_EQ(result.report.cost_before_us, 600);
  EXPECT_EQ(result.report.cost_after_us, 501);
  EXPECT_EQ(result.report.graphs_placed, 0u);
  EXPECT_GT(timer.timed, 0u);
}

TEST_F(RefinedSearch, DoesNotLoadGraphsAgainForKnownPlacedTimes) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-placed", folder));
  std::string file = (folder + "/costs.db").str();
  PlacingRunner runner;
  runner.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 510}};
  (void)optimised(&runner, file);
  EXPECT_EQ(runner.asked_of.size(), 2u);
  Optimized again = optimised(&runner, file);
  EXPECT_EQ(runner.asked_of.size(), 2u);
  EXPECT_NEAR(again.report.cost_after_us, 510, 1e-6);
  EXPECT_EQ(again.report.graphs_placed, 0u);
  (void)llvm::sys::fs::remove_directories(folder);
}

/// Has a known result, and records the results that it is given to keep.
class RecallingRunner final : public FinalistRunner {
public:
  std::optional<KnownResult> known;
  std::vector<std::string> kept;
  Disturbance disturbance = Disturbance::None;
  bool late = false;
  double us = 80; // of a run of the result
  int compared = 0;
  Result<WholeRuns> compare(const Graph&, const Graph&) override {
    if (late) return error(Code::limit_no_answer, "the time limit was reached");
    WholeRuns runs;
    runs.times = compare_times(std::vector<double>(6, 100), std::vector<double>(6, us));
    runs.disturbance = disturbance;
    ++compared;
    return runs;
  }
  std::optional<KnownResult> recall(const Graph&, llvm::ArrayRef<Rule>,
                                    const OptimizeOptions&) override {
    return known;
  }
  void keep(const Graph&, llvm::ArrayRef<Rule>, const OptimizeOptions&,
            const Optimized& result) override {
    kept.push_back(dump(result.graph));
  }
};

KnownResult earlier(const Graph& graph, const OptimizeReport& report) {
  return {
      graph, {}, report.cost_before_us, report.cost_after_us, report.tried_us, *report.comparison};
}

TEST_F(RefinedSearch, AnEarlierResultIsTheOneToBetter) {
  timer.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 501}};
  RecallingRunner runner;
  Optimized found = optimised(&runner);
  EXPECT_EQ(runner.kept, std::vector<std::string>{dump(found.graph)});
  EXPECT_FALSE(found.report.recalled);
  runner.known = earlier(found.graph, found.report);
  runner.known->rules_applied = {{"an-earlier-rule", 3}};
  Optimized again = optimised(&runner);
  EXPECT_TRUE(again.report.recalled);
  EXPECT_TRUE(again.report.changed());
  EXPECT_EQ(again.report.rules_applied.front().rule, "an-earlier-rule");
  EXPECT_EQ(again.report.searches, 1u);
  EXPECT_EQ(runner.kept.size(), 1u) << "it is kept already";
  runner.known = earlier(source, found.report);
  runner.known->tried_us = runner.known->before_us;
  Optimized better = optimised(&runner);
  EXPECT_FALSE(better.report.recalled);
  EXPECT_EQ(difference(better.graph, found.graph), "");
  runner.known->tried_us = 0.001; // and slower: the new result promises no more than that one
  Optimized not_tried = optimised(&runner);
  EXPECT_TRUE(not_tried.report.recalled);
  EXPECT_FALSE(not_tried.report.changed());
}

TEST_F(RefinedSearch, AnEarlierResultNeedNotMeetItsSourceAgainWhereTimeIsOver) {
  timer.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 501}};
  RecallingRunner runner;
  Optimized found = optimised(&runner);
  runner.late = true;
  EXPECT_TRUE(optimised(&runner).report.source_returned);
  runner.known = earlier(found.graph, found.report);
  Optimized again = optimised(&runner);
  EXPECT_EQ(difference(again.graph, found.graph), "");
  EXPECT_FALSE(again.report.source_returned);
  ASSERT_TRUE(again.report.comparison);
  EXPECT_EQ(again.report.comparison->ratio, 1.25);
  EXPECT_EQ(runner.kept.size(), 1u);
}

TEST_F(RefinedSearch, ReturnsAKnownResultThatTookLongToJudge) {
  timer.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 501}};
  RecallingRunner runner;
  Optimized found = optimised(&runner);
  runner.known = earlier(found.graph, found.report);
  runner.known->judging_s = 5;
  timer.times = {{kProduct, 500}, {kRelu, 1}, {kFused, 5000}}; // no longer requested
  Optimized again = optimised(&runner);
  EXPECT_EQ(difference(again.graph, found.graph), "");
  EXPECT_EQ(again.report.searches, 0u);
  EXPECT_EQ(again.report.cost_after_us, found.report.cost_after_us);
  ASSERT_TRUE(again.report.comparison);
  EXPECT_EQ(again.report.comparison->ratio, 1.25);
  EXPECT_EQ(runner.compared, 1);
  EXPECT_EQ(runner.kept.size(), 1u);
  search_on = true;
  EXPECT_EQ(optimised(&runner).report.searches, 1u);
}

/// The result may be slower on an idle machine.
TEST_F(RefinedSearch, ReturnsButDoesNotKeepResultsFromABusyMachine) {
  timer.times = {{kProduct, 500}, {kRelu, 100}, {kFused, 501}};
  RecallingRunner runner;
  runner.disturbance = Disturbance::Heavy;
  EXPECT_FALSE(optimised(&runner).report.source_returned);
  EXPECT_TRUE(runner.kept.empty());
}

TEST_F(RefinedSearch, AShortTimeIsNotSpentOnLoading) {
  PlacingRunner runner;
  refine_time_s = 1;
  (void)optimised(&runner);
  EXPECT_TRUE(runner.asked_of.empty());
}

using PlacedTimesTest = test::Loading;

TEST_F(PlacedTimesTest, NodesOfOneInstanceShareTheirMean) {
  Graph graph = load("model m(x: f32[8]) -> (y: f32[8]) { relu(tanh(relu(x))) }");
  GraphInstances of = instances_of(graph);
  PlacedNodes nodes;
  double us = 1;
  for (NodeId node : of.nodes) nodes.nodes.push_back({node, us *= 2}); // 2, 4, 8
  PlacedInstances placed = placed_instances(graph, nodes);
  ASSERT_EQ(placed.times.size(), 2u);
  EXPECT_EQ(placed.times[0].microseconds, 5);
  EXPECT_EQ(placed.times[1].microseconds, 4);
  EXPECT_EQ(placed.sum_us, 14);
}

TEST(Calibration, KeysAreInstancesEachOnce) {
  std::vector<std::string> keys = calibration_keys();
  EXPECT_GE(keys.size(), 1000u);
  llvm::StringSet<> seen;
  std::set<std::string> operators;
  for (const std::string& key : keys) {
    Symbols symbols;
    std::optional<OwnedInstance> read = read_instance(symbols, key);
    ASSERT_TRUE(read) << key;
    EXPECT_EQ(instance_key(symbols, read->instance()), key);
    EXPECT_TRUE(seen.insert(key).second) << key;
    if (seen.size() <= 300) operators.insert(key.substr(0, key.find('(')));
  }
  for (const char* name : {"conv2d", "matmul", "winograd_conv2d", "fused_map"})
    EXPECT_TRUE(operators.count(name)) << name << " is among the first";
  EXPECT_EQ(keys, calibration_keys()) << "always the same list";
}

TEST(Calibration, NetworksOfAllKindsComeFirst) {
  std::vector<ModelRequest> networks = calibration_networks();
  std::set<std::string> all, first;
  for (size_t i = 0; i < networks.size(); ++i) {
    all.insert(networks[i].model);
    if (i < networks.size() / 5) first.insert(networks[i].model);
  }
  EXPECT_EQ(first, all);
  EXPECT_GE(all.size(), 7u);
  std::vector<ModelRequest> again = calibration_networks();
  ASSERT_EQ(again.size(), networks.size());
  for (size_t i = 0; i < networks.size(); ++i)
    EXPECT_EQ(again[i].settings, networks[i].settings) << "always the same list";
}

TEST(Calibration, EveryNetworkIsAGraphOfOperatorsThatCanBeReadBack) {
  std::set<std::string> operators;
  for (const ModelRequest& network : calibration_networks()) {
    Graph graph = calibration_graph(network);
    EXPECT_EQ(verify(graph), "") << network.model;
    EXPECT_GE(graph.op_count(), 8u) << network.model;
    for (const OpInstance& instance : instances_of(graph).instances) {
      std::string key = instance_key(graph.symbols(), instance);
      Symbols symbols;
      EXPECT_TRUE(read_instance(symbols, key)) << key;
      operators.insert(key.substr(0, key.find('(')));
    }
  }
  for (const char* name :
       {"conv2d", "winograd_conv2d", "matmul", "fused_map", "batch_norm", "concat", "max_pool2d",
        "avg_pool2d", "softmax", "layer_norm", "reduce_mean", "sigmoid"})
    EXPECT_TRUE(operators.count(name)) << name;
}

} // namespace
} // namespace tg
