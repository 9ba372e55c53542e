// Tests whole searches on a device that computes times: the results of reuse against full searches,
// its number of trials, the benefit of its parts, and the accuracy of its estimated number
// of trials.
#include "runtime/tune/pairs/selection.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/full_search.h"

#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/synthetic_device.h"
#include "tests/unit/tune/workloads.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg::tune {
namespace {

struct Pair {
  const char *target, *reused;
};

/// Small operators of each type with tiles, larger and smaller than the reused ones.
const Pair kPairs[] = {
    {"C1D [1, 64, 112 | 32, 3]", "C1D [1, 64, 56 | 32, 3]"},
    {"C2D [1, 64, 28, 28 | 32, 1, 1]", "C2D [1, 64, 28, 28 | 64, 1, 1]"},
    {"C2D [1, 128, 14, 14 | 64, 3, 3]", "C2D [1, 64, 14, 14 | 64, 3, 3]"},
    {"C3D [1, 32, 4, 14, 14 | 32, 3, 1, 1]", "C3D [1, 32, 4, 14, 14 | 16, 3, 1, 1]"},
    {"BMM [12, 64, 64 | 64]", "BMM [12, 128, 64 | 64]"},
    {"BMM [1, 128, 768 | 768]", "BMM [1, 128, 768 | 256]"},
    {"GRP [1, 64, 14, 14 | 32, 3, 3] groups 2", "GRP [1, 64, 14, 14 | 16, 3, 3] groups 2"},
    {"DEP [1, 96, 28, 28 | 3, 3]", "DEP [1, 96, 14, 14 | 3, 3]"},
    {"T2D [1, 64, 16, 16 | 32, 4, 4]", "T2D [1, 32, 16, 16 | 32, 4, 4]"},
    {"WIN [4, 4, 49, 64 | 64] output 1, 14, 14, 2", "WIN [4, 4, 49, 32 | 64] output 1, 14, 14, 2"},
};

FullSearchResult full(const char* op, int64_t trials, bool only_random = false) {
  SyntheticDevice device;
  FullSearchOptions options;
  options.trials = trials;
  options.only_random = only_random;
  return search_fully(*read_operator(op), device, options);
}

ReuseResult reuse(const Pair& pair, const Program& reused, ReuseOptions options = {}) {
  SyntheticDevice device;
  ReuseResult result = tune_by_reuse(*read_operator(pair.target), reused, device, options);
  EXPECT_EQ(device.measured, result.trials);
  return result;
}

double mean_of_logs(const std::vector<double>& ratios) {
  double sum = 0;
  for (double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

TEST(Reuse, ComesNearAFullSearchForAFractionOfItsTrials) {
  std::vector<double> speed, share, without_shapes;
  for (const Pair& pair : kPairs) {
    FullSearchResult reused = full(pair.reused, 400), whole = full(pair.target, 400);
    ASSERT_TRUE(reused.best && whole.best) << pair.target;
    ReuseResult found = reuse(pair, reused.best->program);
    ASSERT_TRUE(found.best) << pair.target;
    ReuseOptions random;
    random.use_block_cost = random.use_thread_cost = false;
    ReuseResult ablated = reuse(pair, reused.best->program, random);
    speed.push_back(whole.best->microseconds / found.best->microseconds);
    share.push_back(static_cast<double>(found.trials) / static_cast<double>(whole.trials));
    without_shapes.push_back(ablated.best ? whole.best->microseconds / ablated.best->microseconds
                                          : 0.1);
  }
  EXPECT_GT(mean_of_logs(speed), 0.9);
  EXPECT_LT(mean_of_logs(share), 0.5);
  EXPECT_GT(mean_of_logs(speed),
            mean_of_logs(without_shapes)); // cost models have a benefit
}

TEST(Reuse, PredictsItsNumberOfTrials) {
  std::vector<double> ratios;
  size_t within = 0;
  for (const Pair& pair : kPairs) {
    FullSearchResult reused = full(pair.reused, 64);
    ReuseResult found = reuse(pair, reused.best->program);
    double expected = expected_trials(*read_operator(pair.target), *read_operator(pair.reused));
    ratios.push_back(expected / static_cast<double>(found.trials + found.filtered));
    within += ratios.back() > 0.4 && ratios.back() < 2.5;
  }
  EXPECT_NEAR(mean_of_logs(ratios), 1, 0.3);
  EXPECT_GE(within * 10, ratios.size() * 8);
}

TEST(FullSearch, LearnsAndKeepsItsLimit) {
  for (const char* op : {kPairs[1].target, kPairs[5].target}) {
    FullSearchResult learned = full(op, 300), random = full(op, 300, true);
    EXPECT_LE(learned.trials, 300);
    EXPECT_LE(learned.trials_to_best, learned.trials);
    EXPECT_LT(learned.best->microseconds, random.best->microseconds);
    EXPECT_EQ(full(op, 300).best->program, learned.best->program); // the same seed
    for (size_t i = 1; i < learned.ranking.size(); ++i)
      EXPECT_LE(learned.ranking[i - 1].microseconds, learned.ranking[i].microseconds);
  }
}

TEST(FullSearch, EndsWhereThereIsNothingNew) {
  FullSearchResult result = full("FRB [1 | 2, 2]", 1000);
  EXPECT_LT(result.trials, 20);
  EXPECT_TRUE(result.best);
}

TEST(Stages, ThreadsOfOtherSketchesAreTriedInRange) {
  struct Row {
    const char *target, *reused;
  };
  for (const Row& row : {Row{"FRB [1 | 512, 512]", "FRB [1 | 256, 256]; cross threads 128"},
                         Row{"FRB [64 | 224, 224]", "FRB [32 | 224, 224]; flat threads 16, 32"},
                         Row{"C2D [1, 256, 1, 1 | 512, 1, 1]",
                             "C2D [1, 128, 1, 1 | 256, 1, 1]; cross threads 64"}}) {
    SyntheticDevice device;
    Result<Program> reused = read_program(row.reused);
    ASSERT_TRUE(reused.ok()) << reused.error().message;
    Operator target = *read_operator(row.target);
    ASSERT_TRUE(can_reuse(target, reused->op));
    ReuseResult result = tune_by_reuse(target, *reused, device);
    ASSERT_TRUE(result.best) << row.target;
    EXPECT_EQ(result.best->program.sketch, reused->sketch);
    EXPECT_TRUE(check(result.best->program).ok());
    EXPECT_LT(result.trials, 20);
  }
}

/// Follows a plan step by step and returns the best program of each operator.
std::vector<Measured> follow(const ReusePlan& plan, const OperatorGraph& graph, Device& device) {
  FullSearchOptions full;
  full.trials = 400;
  std::vector<Measured> best(graph.operators.size());
  for (const TuneStep& step : plan.steps) {
    const Operator& op = graph.operators[step.op];
    std::optional<Measured> found = step.reused
                                        ? tune_by_reuse(op, best[*step.reused].program, device).best
                                        : search_fully(op, device, full).best;
    EXPECT_TRUE(found) << text(op);
    if (found) best[step.op] = *found;
  }
  return best;
}

TEST(Reuse, BridgesSaveTrialsAndEveryOperatorGetsAProgram) {
  std::vector<Operator> operators;
  for (const char* op : {"BMM [1, 128, 256 | 256]", "BMM [12, 128, 128 | 64]",
                         "BMM [12, 128, 64 | 128]", "BMM [1, 128, 512 | 256]"})
    operators.push_back(*read_operator(op));
  SelectionOptions selection;
  selection.full_trials = 400;
  int64_t before = INT64_MAX;
  for (int hops : {0, 1}) {
    selection.hops = hops;
    OperatorGraph graph = operator_graph(operators, selection);
    ReusePlan plan = plan_reuse(graph, hops ? Selection::Greedy : Selection::Arborescence);
    SyntheticDevice device;
    std::vector<Measured> best = follow(plan, graph, device);
    EXPECT_LT(device.measured, before);
    before = device.measured;
    for (size_t op = 0; op < operators.size(); ++op) EXPECT_EQ(best[op].program.op, operators[op]);
  }
}

} // namespace
} // namespace tg::tune
