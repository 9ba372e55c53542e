// Tests the cache of whole runs: each pair is measured once, across processes, and only decisive
// results are kept.
#include "compiler/trial/remembered_finalists.h"

#include "compiler/trial/whole_runs.h"

#include "compiler/ir/graph.h"
#include "loading.h"
#include "runtime/ref/backend.h"

#include <llvm/Support/FileSystem.h>

namespace tg {
namespace {

/// Returns the comparison that a test sets.
class ToldRuns final : public FinalistRunner {
public:
  WholeRuns runs;
  int asked = 0;
  Result<WholeRuns> compare(const Graph&, const Graph&) override {
    ++asked;
    return runs;
  }
};

struct Remembered : test::Loading {
  ToldRuns told;
  Graph source = load("model m(x: f32[8]) -> (y: f32[8]) { relu(tanh(x)) }");
  Graph result = load("model m(x: f32[8]) -> (y: f32[8]) { tanh(x) }");
  llvm::SmallString<128> folder;

  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-runs", folder));
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder); }

  static WholeRuns faster() {
    WholeRuns runs;
    runs.times = compare_times({100, 100, 100, 100, 100, 100}, {80, 80, 80, 80, 80, 80});
    return runs;
  }
  static WholeRuns undecided() {
    WholeRuns runs;
    runs.times = compare_times({100, 100, 100, 100, 100, 100}, {60, 150, 70, 140, 60, 150});
    return runs;
  }
  /// Compares the graphs as a new process would.
  WholeRuns ask(const char* conditions = "f32", int threads = 1) {
    std::unique_ptr<Backend> backend = make_ref_backend();
    RememberedFinalists runner(
        told, open_whole_runs((folder + "/costs.db").str(), *backend, threads), conditions);
    Result<WholeRuns> runs = runner.compare(source, result);
    EXPECT_TRUE(runs.ok());
    return *runs;
  }
};

TEST_F(Remembered, DoesNotRepeatAComparison) {
  told.runs = faster();
  EXPECT_FALSE(ask().times.remembered);
  WholeRuns again = ask();
  EXPECT_EQ(told.asked, 1);
  EXPECT_TRUE(again.times.remembered);
  EXPECT_DOUBLE_EQ(again.times.ratio, told.runs.times.ratio);
  EXPECT_DOUBLE_EQ(again.times.low, told.runs.times.low);
  EXPECT_DOUBLE_EQ(again.times.high, told.runs.times.high);
  EXPECT_TRUE(again.times.second_faster());
  EXPECT_EQ(again.times.first.median_us, 100);
}

TEST_F(Remembered, OtherConditionsAreOtherRuns) {
  told.runs = faster();
  (void)ask();
  (void)ask("f16");
  (void)ask("f32", 2);
  std::swap(source, result);
  (void)ask();
  EXPECT_EQ(told.asked, 4);
}

TEST_F(Remembered, RepeatsAnUndecidedComparisonOnce) {
  told.runs = undecided();
  (void)ask();
  EXPECT_FALSE(ask().times.remembered);
  EXPECT_EQ(told.asked, 2);
}

TEST_F(Remembered, KeepsAnUndecidedResultAfterTwoComparisons) {
  told.runs = undecided();
  (void)ask();
  (void)ask();
  WholeRuns third = ask();
  EXPECT_TRUE(third.times.remembered);
  EXPECT_FALSE(third.times.second_faster() || third.times.second_slower());
  EXPECT_EQ(told.asked, 2);
}

TEST_F(Remembered, ComparisonsThatDisagreeAreNotKept) {
  told.runs = faster();
  told.runs.disturbance = Disturbance::Slight;
  (void)ask();
  told.runs = undecided();
  (void)ask();
  EXPECT_FALSE(ask().times.remembered);
  EXPECT_TRUE(ask().times.remembered) << "the last two agreed";
}

TEST_F(Remembered, NeverKeepsTimesFromABusyMachine) {
  told.runs = faster();
  told.runs.disturbance = Disturbance::Heavy;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask().times.remembered);
  told.runs.disturbance = Disturbance::Slight;
  EXPECT_FALSE(ask().times.remembered);
  EXPECT_FALSE(ask().times.remembered) << "confirmed by its like alone";
  EXPECT_TRUE(ask().times.remembered);
  EXPECT_EQ(told.asked, 5);
}

TEST_F(Remembered, DoesNotKeepAComparisonThatWasCutShort) {
  told.runs = faster();
  told.runs.times.cut = true;
  (void)ask();
  EXPECT_FALSE(ask().times.remembered);
}

TEST_F(Remembered, FaultsAndRemarksAreNotKept) {
  told.runs = WholeRuns{{}, "gives a different output"};
  (void)ask();
  EXPECT_EQ(ask().fault, "gives a different output");
  told.runs = faster();
  told.runs.note = "denormal numbers occur";
  (void)ask();
  EXPECT_EQ(ask().note, "denormal numbers occur");
  told.runs = faster();
  told.runs.disturbance = Disturbance::Slight;
  (void)ask();
  EXPECT_FALSE(ask().times.remembered) << "others computed meanwhile";
  EXPECT_EQ(told.asked, 6);
}

struct RememberedResults : Remembered {
  std::vector<Rule> known_rules = rules();
  OptimizeOptions options;

  std::unique_ptr<CostDb> database() {
    std::unique_ptr<Backend> backend = make_ref_backend();
    return open_whole_runs((folder + "/costs.db").str(), *backend, 1);
  }
  std::optional<KnownResult> recalled() {
    return RememberedFinalists(told, database(), "f32").recall(source, known_rules, options);
  }
  void keep() {
    Optimized found{result, {}};
    found.report.cost_before_us = 100;
    found.report.cost_after_us = found.report.tried_us = 80;
    found.report.judging_s = 2.5;
    found.report.found_other = true;
    found.report.comparison = faster().times;
    found.report.rules_applied = {{"relu-of-tanh", 2}, {"fuse", 1}};
    RememberedFinalists(told, database(), "f32").keep(source, known_rules, options, found);
  }
};

TEST_F(RememberedResults, AreThoseOfTheSameSourceRulesAndOptions) {
  EXPECT_FALSE(recalled());
  keep();
  std::optional<KnownResult> known = recalled();
  ASSERT_TRUE(known);
  EXPECT_EQ(difference(known->graph, result), "");
  EXPECT_EQ(&known->graph.symbols(), &source.symbols());
  ASSERT_EQ(known->rules_applied.size(), 2u);
  EXPECT_EQ(known->rules_applied[0].rule, "relu-of-tanh");
  EXPECT_EQ(known->rules_applied[0].count, 2u);
  EXPECT_EQ(known->before_us, 100);
  EXPECT_EQ(known->after_us, 80);
  EXPECT_EQ(known->tried_us, 80);
  EXPECT_EQ(known->judging_s, 2.5);
  EXPECT_NEAR(known->times.ratio, faster().times.ratio, 1e-6);
  EXPECT_NEAR(known->times.low, faster().times.low, 1e-6);
  EXPECT_NEAR(known->times.second.median_us, faster().times.second.median_us, 1e-6);
  EXPECT_TRUE(known->times.remembered);
  options.explore.numerics = Numerics::Exact;
  EXPECT_FALSE(recalled());
  options = {};
  Rule left_out = known_rules.back();
  known_rules.pop_back();
  EXPECT_FALSE(recalled());
  known_rules.push_back(left_out);
  EXPECT_TRUE(recalled());
  source = load("model m(x: f32[9]) -> (y: f32[9]) { relu(tanh(x)) }");
  EXPECT_FALSE(recalled());
}

TEST_F(RememberedResults, TryResultsAgainThatLostOnABusyMachine) {
  auto keep = [&](Disturbance disturbance, bool lost) {
    Optimized found{result, {}};
    found.report.cost_before_us = found.report.cost_after_us = found.report.tried_us = 100;
    found.report.comparison = faster().times;
    found.report.found_other = true;
    found.report.disturbance = disturbance;
    found.report.source_returned = lost;
    RememberedFinalists(told, database(), "f32").keep(source, known_rules, options, found);
  };
  keep(Disturbance::Slight, true);
  EXPECT_FALSE(recalled()) << "another day it may win";
  keep(Disturbance::Slight, true);
  EXPECT_TRUE(recalled());
  options.explore.seed = 2;
  keep(Disturbance::None, true);
  EXPECT_TRUE(recalled());
  options.explore.seed = 3;
  keep(Disturbance::Slight, false);
  EXPECT_TRUE(recalled()) << "it won even so";
}

TEST_F(RememberedResults, SearchOnceMoreBeforeTheSourceIsKept) {
  Optimized nothing{source, {}};
  nothing.report.cost_before_us = nothing.report.cost_after_us = 100;
  nothing.report.judging_s = 2.5;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(recalled());
    RememberedFinalists(told, database(), "f32").keep(source, known_rules, options, nothing);
  }
  std::optional<KnownResult> known = recalled();
  ASSERT_TRUE(known);
  EXPECT_EQ(difference(known->graph, source), "");
  EXPECT_EQ(known->times.high, 0) << "nothing was run";
}

TEST_F(RememberedResults, IgnoreDamagedRows) {
  keep();
  for (llvm::StringRef text : {"", "\n\n", "\n\nmodel m(x: f32[8]) -> (y: f32[8]) { tanh(x) }",
                               "beef\n\nmodel m(x: f32[8]) -> (y: f32[8]) { tanh(x) }"}) {
    auto rows = database()->rows_of_all_layouts();
    auto kept = llvm::find_if(rows, [](const auto& row) {
      return llvm::StringRef(row.second.instance).startswith("result of ");
    });
    ASSERT_NE(kept, rows.end());
    database()->store({{kept->second.instance, 80, text.str()}});
    EXPECT_FALSE(recalled()) << text.str();
  }
}

/// The user's weights are part of the key: by their elements, not by their file.
struct RememberedWithWeights : RememberedResults {
  Graph weighted = load("model m(x: f32[8]) -> (y: f32[8]) {\n  param w: f32[8]\n"
                        "  relu(tanh(x * w))\n}");

  PrepareOptions giving(float number) const {
    PrepareOptions run;
    run.backend = "ref";
    run.threads = 1;
    run.cost_db = (folder + "/costs.db").str();
    run.weights = [number](const PlanValue& value) -> Result<Tensor> {
      if (!(number > 0)) return error(Code::bad_data_file, "there is none");
      TG_TRY(Tensor tensor, Tensor::zeros(value.type));
      std::fill_n(reinterpret_cast<float*>(tensor.data()), value.type.elements(), number);
      return tensor;
    };
    return run;
  }
  /// Runs a search with these weights, as a new process would.
  void search(float number, bool expect_known) {
    WholeRunPolicy policy(
        {.cost = tangram::CostSpec::calibrated(), .finalists = 1, .source = &weighted},
        giving(number), TimePlan());
    FinalistRunner* runner = policy.runner();
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner->recall(weighted, known_rules, options).has_value(), expect_known) << number;
    Optimized found{weighted, {}};
    found.report.cost_before_us = found.report.cost_after_us = 100;
    found.report.found_other = true;
    found.report.comparison = faster().times;
    runner->keep(weighted, known_rules, options, found);
  }
};

TEST_F(RememberedWithWeights, AreRecalledForEqualElementsAlone) {
  search(1, false);
  search(1, true);
  search(2, false);
  search(2, true);
  search(1, true);
}

TEST_F(RememberedWithWeights, AreNotKeptWhereAWeightCannotBeRead) {
  search(-1, false);
  search(-1, false);
}

TEST_F(RememberedWithWeights, AreNamedAlikeInAllProcesses) {
  std::string one = digest_of_weights(weighted, giving(1));
  EXPECT_EQ(one, digest_of_weights(weighted, giving(1)));
  EXPECT_EQ(one.size(), 40u);
  EXPECT_NE(one, digest_of_weights(weighted, giving(2)));
}

} // namespace
} // namespace tg
