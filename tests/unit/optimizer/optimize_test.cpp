// Tests the result of `optimize` if invented whole runs contradict the prices: it must do no harm.
#include "compiler/optimizer/optimize.h"

#include "compiler/api/files/model.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/graph.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

class FakeFinalists : public FinalistRunner {
public:
  FakeFinalists(double first_us, double second_us) : first_(first_us), second_(second_us) {}
  int asked = 0;
  bool fails = false, late = false, cut = false, in_parts = false;
  Disturbance disturbance = Disturbance::None;
  double spread_us = 0; // of the second graph, between runs
  std::string fault;
  Result<WholeRuns> compare(const Graph&, const Graph&) override {
    ++asked;
    if (fails) return error(Code::memory_limit, "too large");
    if (late) return error(Code::limit_no_answer, "the time limit was reached");
    if (!fault.empty()) return WholeRuns{{}, fault};
    double slow = second_ + spread_us, fast = second_ - spread_us;
    WholeRuns runs{compare_times({first_, first_, first_}, {fast, slow, fast}), "", "",
                   disturbance};
    runs.times.cut = cut;
    runs.in_parts = in_parts;
    return runs;
  }
  Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                              llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<ScreeningResult> screened;
    for (const Graph* graph : graphs)
      screened.push_back({difference(source, *graph).empty() ? first_ : second_, fault});
    return screened;
  }

private:
  double first_, second_;
};

struct Fixture : testing::Test {
  SourceManager sources;
  DiagnosticSink sink;

  Graph load(const char* text) {
    FileId file = sources.add("test.tg", text);
    std::optional<Graph> graph = load_model(sources, file, {}, sink);
    EXPECT_TRUE(graph);
    return *graph;
  }
  Optimized run(const Graph& source, FinalistRunner* finalists, OptimizeOptions options = {}) {
    auto rules = load_rules(sources, library(), {}, sink);
    EXPECT_TRUE(rules);
    auto costs = make_analytic_cost("cpu");
    options.extract.extractor = Extractor::Greedy;
    auto result = optimize(source, *rules, **costs, options, finalists);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
};

constexpr const char* kFusable = "model m(x: f32[8, 8]) -> (y: f32[8, 8]) {\n"
                                 "  param w: f32[8, 8]\n  relu(x @ w)\n}\n";

using Optimize = Fixture;

TEST_F(Optimize, AFasterGraphIsTaken) {
  Graph source = load(kFusable);
  FakeFinalists finalists(100, 80);
  Optimized result = run(source, &finalists);
  EXPECT_EQ(finalists.asked, 1);
  EXPECT_FALSE(result.report.source_returned);
  EXPECT_LT(result.report.nodes_after, result.report.nodes_before);
  EXPECT_FALSE(result.report.rules_applied.empty());
}

TEST_F(Optimize, ASlowerGraphIsNot) {
  Graph source = load(kFusable);
  for (double second : {100.0, 120.0}) { // equal, slower
    FakeFinalists finalists(100, second);
    Optimized result = run(source, &finalists);
    EXPECT_TRUE(result.report.source_returned);
    EXPECT_EQ(difference(source, result.graph), "");
    EXPECT_EQ(result.report.cost_after_us, result.report.cost_before_us);
    EXPECT_TRUE(result.report.rules_applied.empty());
    ASSERT_FALSE(result.report.notes.empty());
  }
}

/// By default prices are guesses. A result that the clock cannot distinguish from the source
/// is returned; a slower one is not.
TEST_F(Optimize, RejectsSlowerResultsEvenIfNoGainIsRequired) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  options.must_gain = false;
  for (double second : {80.0, 100.0, 101.0}) {
    FakeFinalists finalists(100, second);
    Optimized result = run(source, &finalists, options);
    EXPECT_EQ(finalists.asked, 1);
    EXPECT_EQ(result.report.source_returned, second > 100) << second;
    EXPECT_EQ(difference(source, result.graph).empty(), second > 100) << second;
  }
}

TEST_F(Optimize, BesideOtherWorkAGuessHasToGain) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  options.must_gain = false;
  for (double second : {80.0, 100.0}) {
    FakeFinalists finalists(100, second);
    finalists.disturbance = Disturbance::Slight;
    Optimized result = run(source, &finalists, options);
    EXPECT_EQ(result.report.source_returned, second == 100) << second;
  }
}

TEST_F(Optimize, TimedInPartsAGuessHasToGain) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  options.must_gain = false;
  for (double second : {80.0, 100.0}) {
    FakeFinalists finalists(100, second);
    finalists.in_parts = true;
    Optimized result = run(source, &finalists, options);
    EXPECT_EQ(result.report.source_returned, second == 100) << second;
  }
}

TEST_F(Optimize, AGraphThatDoesNotRunOrDiffersIsNotReturned) {
  Graph source = load(kFusable);
  FakeFinalists finalists(100, 80);
  finalists.fault = "does not run: too large";
  Optimized result = run(source, &finalists);
  EXPECT_TRUE(result.report.source_returned);
  EXPECT_FALSE(result.report.comparison);
  EXPECT_EQ(difference(source, result.graph), "");
  EXPECT_EQ(result.report.cost_after_us, result.report.cost_before_us);
  ASSERT_FALSE(result.report.notes.empty());
  EXPECT_NE(result.report.notes[0].find("does not run: too large: the source is returned"),
            std::string::npos)
      << result.report.notes[0];
}

TEST_F(Optimize, ASourceThatDoesNotRunLeavesThePricesToDecide) {
  FakeFinalists finalists(1, 1);
  finalists.fails = true;
  Optimized result = run(load(kFusable), &finalists);
  EXPECT_FALSE(result.report.source_returned);
  EXPECT_FALSE(result.report.comparison);
  EXPECT_FALSE(result.report.notes.empty());
}

/// With guessed and with measured prices.
TEST_F(Optimize, ReturnsTheSourceIfNoTimeIsLeftForTheComparison) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  for (bool must_gain : {false, true}) {
    options.must_gain = must_gain;
    FakeFinalists finalists(100, 50);
    finalists.late = true;
    Optimized result = run(source, &finalists, options);
    EXPECT_TRUE(result.report.source_returned);
    EXPECT_TRUE(result.report.found_other);
    EXPECT_FALSE(result.report.changed());
    EXPECT_FALSE(result.report.comparison);
    EXPECT_EQ(difference(source, result.graph), "");
    EXPECT_EQ(result.report.cost_after_us, result.report.cost_before_us);
    EXPECT_TRUE(result.report.rules_applied.empty());
    ASSERT_FALSE(result.report.notes.empty());
    EXPECT_NE(result.report.notes[0].find(
                  "was not timed against the source (the time limit was reached): the "
                  "source is returned"),
              std::string::npos)
        << result.report.notes[0];
  }
}

TEST_F(Optimize, RunsThatWereCutDoNotDecide) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  for (bool must_gain : {false, true}) {
    options.must_gain = must_gain;
    FakeFinalists finalists(100, 50);
    finalists.cut = true;
    Optimized result = run(source, &finalists, options);
    EXPECT_TRUE(result.report.source_returned);
    EXPECT_FALSE(result.report.comparison);
    EXPECT_EQ(difference(source, result.graph), "");
    ASSERT_FALSE(result.report.notes.empty());
    EXPECT_NE(result.report.notes[0].find("the time limit was reached after 3 runs of each"),
              std::string::npos)
        << result.report.notes[0];
  }
}

/// Prices fused operators like the operators that they replace, so that nothing is gained.
class FlatCost : public CostModel {
public:
  std::string name() const override { return "flat"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    bool fused =
        instance.op == OpKind::Matmul && symbols.attr(instance.attrs, 0) != Value::of_enum("none");
    return fused ? 2 : 1;
  }
};

/// Prices fused operators a little lower than the operators that they replace.
class NearlyFlatCost : public CostModel {
public:
  explicit NearlyFlatCost(double gain) : fused_us_(2 / gain) {}
  std::string name() const override { return "nearly flat"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    bool fused =
        instance.op == OpKind::Matmul && symbols.attr(instance.attrs, 0) != Value::of_enum("none");
    return fused ? fused_us_ : 1;
  }

private:
  double fused_us_;
};

/// If prices promise little, the noise may hide a loss as large as the gain.
TEST_F(Optimize, ASmallPromiseHasToBeSeen) {
  Graph source = load(kFusable);
  auto rules = load_rules(sources, library(), {}, sink);
  OptimizeOptions options;
  options.extract.extractor = Extractor::Greedy;
  options.must_gain = false;
  for (double gain : {1.02, 1.1})
    for (double spread : {0.5, 2.0}) {
      NearlyFlatCost costs(gain);
      FakeFinalists finalists(100, 98);
      finalists.spread_us = spread;
      auto result = optimize(source, *rules, costs, options, &finalists);
      ASSERT_TRUE(result.ok());
      EXPECT_TRUE(result->report.found_other);
      EXPECT_EQ(result->report.changed(), !result->report.source_returned);
      EXPECT_EQ(result->report.source_returned, gain < 1.03 && spread > 1) << gain << " " << spread;
    }
}

/// The costs of a device that was lost before the first measurement.
class NoCost : public CostModel {
public:
  std::string name() const override { return "none"; }
  double price(const Symbols&, const OpInstance&) override {
    return std::numeric_limits<double>::infinity();
  }
  std::vector<std::string> notes() const override { return {"the device is lost"}; }
};

TEST_F(Optimize, ReportsWhyThereAreNoPrices) {
  Graph source = load(kFusable);
  auto rules = load_rules(sources, library(), {}, sink);
  NoCost none;
  auto result = optimize(source, *rules, none, {}, nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::no_solution);
  EXPECT_EQ(result.error().notes, std::vector<std::string>{"the device is lost"});
}

TEST_F(Optimize, ReturnsTheChoiceOfOtherPricesIfItRunsFaster) {
  Graph source = load(kFusable);
  auto rules = load_rules(sources, library(), {}, sink);
  auto analytic = make_analytic_cost("cpu");
  FlatCost flat;
  OptimizeOptions options;
  options.extract.extractor = Extractor::Greedy;
  for (double second : {80.0, 100.0}) { // faster; equal
    FakeFinalists finalists(100, second);
    auto result = optimize(source, *rules, flat, options, &finalists, analytic->get());
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(difference(source, result->graph).empty(), second == 100);
    EXPECT_EQ(finalists.asked, 1) << "no two graphs are compared twice";
    EXPECT_LE(result->report.cost_after_us, result->report.cost_before_us);
  }
}

TEST_F(Optimize, ASecondOpinionThatDiffersIsNotReturned) {
  Graph source = load(kFusable);
  auto rules = load_rules(sources, library(), {}, sink);
  auto analytic = make_analytic_cost("cpu");
  FlatCost flat;
  OptimizeOptions options;
  options.extract.extractor = Extractor::Greedy;
  FakeFinalists finalists(100, 80);
  finalists.fault = "gives a different output";
  auto result = optimize(source, *rules, flat, options, &finalists, analytic->get());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(difference(source, result->graph), "");
}

TEST_F(Optimize, DoesNotRunUnchangedGraphs) {
  Graph source = load("model m(x: f32[8]) -> (y: f32[8]) { relu(x) }\n");
  FakeFinalists finalists(100, 50);
  Optimized result = run(source, &finalists);
  EXPECT_EQ(finalists.asked, 0);
  EXPECT_FALSE(result.report.changed());
  EXPECT_EQ(difference(source, result.graph), "");
}

TEST_F(Optimize, NoSearchKeepsTheSource) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  options.search = Search::None;
  Optimized result = run(source, nullptr, options);
  EXPECT_EQ(difference(source, result.graph), "");
  EXPECT_EQ(result.report.stopped_by, "no search");
}

TEST_F(Optimize, RolloutsRepeatUnderOneSeed) {
  Graph source = load("model m(x: f32[8, 8]) -> (y: f32[8, 8]) {\n  param a: f32[8, 8]\n"
                      "  param b: f32[8, 8]\n  relu(x @ a) + tanh(x @ b)\n}\n");
  OptimizeOptions options;
  options.search = Search::Random;
  options.budget = 6;
  options.depth = 4;
  options.explore.seed = 5;
  Optimized one = run(source, nullptr, options), two = run(source, nullptr, options);
  EXPECT_EQ(difference(one.graph, two.graph), "");
  EXPECT_EQ(one.report.cost_after_us, two.report.cost_after_us);
  EXPECT_LE(one.report.cost_after_us, one.report.cost_before_us);
}

/// For each way in which an optimisation ends, the report agrees with the graphs.
TEST_F(Optimize, AReportSaysOnceWhetherTheResultIsTheSource) {
  struct Ending {
    const char* what;
    bool improves, found_other;
    const char* model;
    void (*arrange)(FakeFinalists&);
    double second_us;
  };
  const char* plain = "model m(x: f32[8, 8]) -> (y: f32[8, 8]) { relu(x) }\n";
  const Ending endings[] = {
      {"nothing found", false, false, plain, [](FakeFinalists&) {}, 80},
      {"faster", true, true, kFusable, [](FakeFinalists&) {}, 80},
      {"slower", false, true, kFusable, [](FakeFinalists&) {}, 120},
      {"late", false, true, kFusable, [](FakeFinalists& f) { f.late = true; }, 80},
      {"cut", false, true, kFusable, [](FakeFinalists& f) { f.cut = true; }, 80},
      {"wrong", false, true, kFusable, [](FakeFinalists& f) { f.fault = "differs"; }, 80},
      {"no runs", true, true, kFusable, [](FakeFinalists& f) { f.fails = true; }, 80},
  };
  for (const Ending& ending : endings)
    for (Search search : {Search::Mcts, Search::Saturate}) {
      Graph source = load(ending.model);
      FakeFinalists finalists(100, ending.second_us);
      ending.arrange(finalists);
      OptimizeOptions options;
      options.search = search;
      Optimized result = run(source, &finalists, options);
      const OptimizeReport& report = result.report;
      EXPECT_EQ(report.found_other, ending.found_other) << ending.what;
      EXPECT_EQ(report.changed(), ending.improves) << ending.what;
      EXPECT_EQ(report.source_returned, ending.found_other && !ending.improves) << ending.what;
      EXPECT_EQ(report.changed(), !difference(source, result.graph).empty()) << ending.what;
      EXPECT_EQ(report.cost_after_us < report.cost_before_us, ending.improves) << ending.what;
    }
}

/// A bound on all graphs is reported only if nothing ended the search early.
TEST_F(Optimize, ALimitLeavesNoBoundOnAllGraphs) {
  Graph source = load(kFusable);
  OptimizeOptions options;
  options.search = Search::Saturate;
  EXPECT_FALSE(run(source, nullptr, options).report.bounds_all())
      << "greedy extraction proves none";
  auto rules = load_rules(sources, library(), {}, sink);
  auto costs = make_analytic_cost("cpu");
  options.extract.extractor = Extractor::Ilp;
  auto bounds_all = [&] {
    Result<Optimized> result = optimize(source, *rules, **costs, options, nullptr);
    EXPECT_TRUE(result.ok());
    return result && result->report.bounds_all();
  };
  EXPECT_TRUE(bounds_all());
  options.explore.node_limit = 4;
  EXPECT_FALSE(bounds_all());
  options.explore.node_limit = 50'000;
  options.explore.iterations = 1;
  EXPECT_FALSE(bounds_all());
  options.explore.iterations = 100;
  options.explore.time_limit_s = 0;
  EXPECT_FALSE(bounds_all());
}

} // namespace
} // namespace tg
