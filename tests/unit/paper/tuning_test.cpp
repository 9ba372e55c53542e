// Tests the published variants of the tuner on a device that computes times.
#include "bench/paper/tuning/baselines.h"
#include "bench/paper/tuning/published.h"
#include "runtime/tune/reuse.h"

#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/synthetic_plan.h"

#include <llvm/ADT/STLExtras.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tg::paper {
namespace {

using namespace tune;

PlanTuneReport run(const char* reuse, Store& store, std::vector<std::string> words = {}) {
  SyntheticPlan device(
      {"BMM [1, 128, 256 | 256]", "BMM [1, 128, 512 | 256]", "BMM [12, 128, 128 | 64]"}, store);
  PlanTuneOptions options;
  options.trials = 200;
  apply_variants(reuse, words, options);
  std::unique_ptr<ReuseBaseline> baseline = published_baseline(reuse);
  options.baseline = baseline.get();
  return tune_plan(device, options, [](const PlanTuneLine&) {});
}

size_t reuses(const PlanTuneReport& report) {
  return static_cast<size_t>(
      llvm::count_if(report.lines, [](const auto& line) { return line.reused_from != ""; }));
}

TEST(PublishedTuner, EveryKindOfReuseGivesEveryOperatorAProgram) {
  std::map<std::string, PlanTuneReport> of;
  for (const char* reuse : {"eto", "no-bridges", "top", "selective", "full", "random"}) {
    Store store;
    of[reuse] = run(reuse, store);
    EXPECT_EQ(store.size(), 3u) << reuse;
    for (const PlanTuneLine& line : of[reuse].lines)
      EXPECT_TRUE(line.state == TuneState::Tuned || line.state == TuneState::Bridge) << reuse;
  }
  EXPECT_GT(of["full"].trials, 3 * 100);
  EXPECT_EQ(reuses(of["full"]), 0u);
  EXPECT_EQ(reuses(of["random"]), 0u);
  EXPECT_GT(reuses(of["top"]), 0u);
  EXPECT_GT(reuses(of["selective"]), 0u);
}

TEST(PublishedTuner, WordsChangeTheSearch) {
  Store plain, random;
  int64_t trials = run("eto", plain).trials;
  EXPECT_NE(run("eto", random, {"to-the-end", "no-guess", "random-shapes"}).trials, trials);
}

TEST(PublishedTuner, ReuseFindsMoreThanTilesAsTheyAre) {
  struct Pair {
    const char *target, *reused;
  };
  double gained = 0; // sum of logarithms
  for (const Pair& pair : {Pair{"C1D [1, 64, 112 | 32, 3]", "C1D [1, 64, 56 | 32, 3]"},
                           Pair{"C2D [1, 64, 28, 28 | 32, 1, 1]", "C2D [1, 64, 28, 28 | 64, 1, 1]"},
                           Pair{"BMM [12, 64, 64 | 64]", "BMM [12, 128, 64 | 64]"},
                           Pair{"DEP [1, 96, 28, 28 | 3, 3]", "DEP [1, 96, 14, 14 | 3, 3]"}}) {
    SyntheticDevice device;
    FullSearchOptions full;
    full.trials = 400;
    FullSearchResult reused = search_fully(*read_operator(pair.reused), device, full);
    ASSERT_TRUE(reused.best) << pair.reused;
    Operator target = *read_operator(pair.target);
    ReuseResult found = tune_by_reuse(target, reused.best->program, device);
    ASSERT_TRUE(found.best) << pair.target;
    TopResult copied = tune_by_top(target, reused.ranking, 3, device);
    constexpr double kNothing = 10; // times as long if no tiles divide
    gained +=
        std::log(copied.best ? copied.best->microseconds / found.best->microseconds : kNothing);
  }
  EXPECT_GT(gained, 0);
}

TEST(Top, TilesAreKeptAndBlocksTakeTheRest) {
  Program reused = *read_program("BMM [1, 64, 64 | 64]; tiles 1.1.1.1.1, 4.1.8.1.2, 4.1.8.1.2 | "
                                 "4.8.2; unroll 16; vectors 1, 2");
  std::optional<Program> program = with_tiles_of(*read_operator("BMM [2, 96, 64 | 32]"), reused);
  ASSERT_TRUE(program);
  EXPECT_EQ(text(*program), "BMM [2, 96, 64 | 32]; tiles 2.1.1.1.1, 6.1.8.1.2, 4.1.8.1.2 | 2.8.2; "
                            "unroll 16; vectors 1, 2");
  EXPECT_FALSE(with_tiles_of(*read_operator("BMM [1, 40, 64 | 64]"), reused));
}

TEST(Clusters, OverlapIsTheShareOfCommonFactors) {
  Operator a = *read_operator("BMM [1, 4, 4 | 4]"), b = *read_operator("BMM [1, 4, 4 | 8]");
  EXPECT_EQ(overlap(a, a), 1);
  EXPECT_EQ(overlap(a, b), 0.6); // C(4, 2) of C(5, 2) factorisations of 8 into three
  EXPECT_EQ(overlap(a, *read_operator("C1D [1, 4, 4 | 4, 1]")), 0);
  std::vector<Operator> operators = {a, *read_operator("FRB [1 | 8, 8]"), b};
  EXPECT_EQ(clusters(operators), (std::vector<std::vector<size_t>>{{0, 2}, {1}}));
}

} // namespace
} // namespace tg::paper
