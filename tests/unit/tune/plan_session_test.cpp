// Tests sessions over a plan's operators on a device that computes times: known programs
// are kept, serve other operators, and survive an early end.
#include "runtime/tune/plan_session.h"

#include "runtime/tune/reuse.h"

#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/synthetic_plan.h"

#include <llvm/ADT/STLExtras.h>

#include <gtest/gtest.h>

namespace tg::tune {
namespace {

PlanTuneReport run(SyntheticPlan& device, PlanTuneOptions options = {}) {
  if (options.trials == 1000) options.trials = 200;
  size_t seen = 0;
  PlanTuneReport report = tune_plan(device, options, [&](const PlanTuneLine&) { ++seen; });
  EXPECT_EQ(seen, report.lines.size());
  return report;
}

size_t count(const PlanTuneReport& report, TuneState state) {
  return static_cast<size_t>(
      llvm::count_if(report.lines, [&](const PlanTuneLine& line) { return line.state == state; }));
}

constexpr const char* kOut = "BMM [1, 128, 256 | 256]";
constexpr const char* kUp = "BMM [1, 128, 512 | 256]";
constexpr const char* kKeys = "BMM [12, 128, 128 | 64]";

TEST(PlanSession, EveryOperatorHasALineAndIsKept) {
  Store store;
  SyntheticPlan device({kOut, kUp, kKeys, "softmax"}, store);
  PlanTuneReport report = run(device);
  EXPECT_EQ(count(report, TuneState::Tuned), 3u);
  EXPECT_EQ(count(report, TuneState::NoKernel), 1u);
  EXPECT_EQ(report.lines[0].note, "no kernel for it");
  EXPECT_EQ(store.size(), 3u);
  EXPECT_EQ(report.trials, device.measured());
  EXPECT_TRUE(llvm::any_of(report.lines, [](const auto& line) { return line.reused_from != ""; }));
}

TEST(PlanSession, ReusesKnownProgramsAndDoesNotTryThemAgain) {
  Store store;
  SyntheticPlan first({kOut}, store);
  run(first);
  SyntheticPlan second({kOut, kUp}, store);
  PlanTuneReport report = run(second);
  EXPECT_EQ(count(report, TuneState::Known), 1u);
  EXPECT_EQ(count(report, TuneState::Tuned), 1u);
  EXPECT_EQ(report.lines.back().reused_from, kOut);
  EXPECT_LT(second.measured(), first.measured());
  SyntheticPlan third({kOut, kUp}, store);
  EXPECT_EQ(run(third).trials, 0);
  PlanTuneOptions again;
  again.again = true;
  EXPECT_GT(run(third, again).trials, 0);
}

TEST(PlanSession, KeepsFinishedProgramsWhenStopped) {
  Store whole, part;
  SyntheticPlan all({kOut, kUp, kKeys}, whole);
  PlanTuneReport complete = run(all);
  SyntheticPlan device({kOut, kUp, kKeys}, part);
  device.stop_after = all.measured() - 1; // during the last operator
  PlanTuneReport report = run(device);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(part.size(), 3u);
  EXPECT_EQ(count(report, TuneState::Stopped), 1u);
  EXPECT_EQ(report.trials, device.measured());
  EXPECT_LE(device.measured(), device.stop_after);
  device.stop_after = INT64_MAX; // the next run continues with the unfinished operator
  EXPECT_EQ(count(run(device), TuneState::Known), 2u);
  EXPECT_EQ(part.size(), 3u);
  EXPECT_EQ(count(run(device), TuneState::Known), 3u);
}

TEST(PlanSession, ASearchThatIsCutOffKeepsTheBestSoFarAndGoesOn) {
  Store store;
  SyntheticPlan device({kOut}, store);
  device.stop_after = 50;
  PlanTuneReport first = run(device);
  ASSERT_EQ(first.lines.size(), 1u);
  EXPECT_EQ(first.lines[0].state, TuneState::Stopped);
  EXPECT_EQ(first.trials, 50);
  ASSERT_TRUE(first.lines[0].found);
  EXPECT_TRUE(first.lines[0].found->cut_off);
  double so_far = store.at(kOut).best.microseconds;

  SyntheticPlan second({kOut}, store); // in another process
  second.stop_after = 3;
  EXPECT_TRUE(run(second).stopped);
  EXPECT_LE(store.at(kOut).best.microseconds, so_far) << "the best of both";
  EXPECT_EQ(store.at(kOut).trials, 53);

  SyntheticPlan third({kOut}, store);
  PlanTuneReport last = run(third);
  EXPECT_EQ(last.lines[0].state, TuneState::Tuned);
  EXPECT_FALSE(store.at(kOut).cut_off);
  EXPECT_LE(store.at(kOut).best.microseconds, so_far);
  EXPECT_EQ(store.at(kOut).trials, 53 + last.trials);
}

TEST(PlanSession, KeepsNothingWhenStoppedBeforeTheFirstTrial) {
  Store store;
  SyntheticPlan device({kOut, kUp}, store);
  device.add_alike("the same, elsewhere", kOut);
  device.stop_after = 0;
  PlanTuneReport report = run(device);
  EXPECT_EQ(count(report, TuneState::Stopped), report.lines.size());
  EXPECT_TRUE(store.empty());
}

TEST(PlanSession, OperatorsAlikeShareTheirTrials) {
  Store store;
  SyntheticPlan device({kOut}, store);
  device.add_alike("the same, elsewhere", kOut);
  PlanTuneReport report = run(device);
  ASSERT_EQ(report.lines.size(), 2u);
  EXPECT_EQ(report.lines[1].trials, 0);
  EXPECT_EQ(report.lines[1].note, "the same programs");
  EXPECT_EQ(store.size(), 2u);
}

TEST(PlanSession, StoresThatAProgramIsNotFaster) {
  Store store;
  SyntheticPlan device({kOut}, store);
  device.untuned_us = 0.001;
  EXPECT_EQ(count(run(device), TuneState::NotFaster), 1u);
  EXPECT_FALSE(store.begin()->second.faster);
}

TEST(PlanSession, WithoutBridgesNothingKnownIsReused) {
  Store store;
  SyntheticPlan first({kOut}, store);
  run(first);
  SyntheticPlan second({kOut, kUp}, store);
  PlanTuneOptions options;
  options.hops = 0;
  PlanTuneReport report = run(second, options);
  EXPECT_EQ(count(report, TuneState::Bridge), 0u);
  for (const PlanTuneLine& line : report.lines) EXPECT_EQ(line.reused_from, "") << line.name;
}

TEST(PlanSession, EndsASearchAtAProgramThatIsFastEnough) {
  Store store, other;
  SyntheticPlan device({kOut, kUp}, store);
  run(device);
  double best = store.at(kOut).best.microseconds;
  SyntheticPlan second({kOut, kUp}, other);
  second.enough = 4 * best;
  PlanTuneOptions options;
  options.library = true;
  PlanTuneReport report = run(second, options);
  EXPECT_LT(second.measured(), device.measured() / 2);
  for (const PlanTuneLine& line : report.lines) {
    EXPECT_EQ(line.state, TuneState::Tuned) << "the search is done, not cut off";
    EXPECT_EQ(line.library_us, line.name == kOut ? 100 : 200);
    EXPECT_FALSE(line.found->cut_off);
  }
  EXPECT_LE(other.at(kOut).best.microseconds, 4 * best);
}

TEST(PlanSession, TrialsOfAStepAreKnownWhenItBegins) {
  Store store;
  SyntheticPlan device({kOut, kUp, kKeys}, store);
  PlanTuneOptions patient; // otherwise the clock determines when a search ends without gain
  patient.until_enough = false;
  PlanTuneReport report = run(device, patient);
  size_t reuses = 0;
  for (const PlanTuneLine& line : report.lines) {
    if (line.reused_from.empty()) continue;
    ++reuses;
    EXPECT_GT(line.planned, 0);
    // The remaining unrollings and vectors depend on the program that won before.
    EXPECT_NEAR(line.expected / static_cast<double>(line.trials), 1, 0.1) << line.name;
  }
  EXPECT_GT(reuses, 0u);
  Store other;
  SyntheticPlan by_formulas({kOut, kUp, kKeys}, other);
  PlanTuneOptions options;
  options.dry_estimates = false;
  EXPECT_EQ(count(run(by_formulas, options), TuneState::Tuned), 3u);
}

TEST(PlanSession, SearchesBeginWithTheGuess) {
  Store store, other;
  SyntheticPlan device({kOut}, store);
  run(device);
  SyntheticPlan second({kOut}, other);
  second.guessed = store.at(kOut).best.program;
  second.stop_after = 1;
  run(second);
  EXPECT_EQ(other.at(kOut).best.program, store.at(kOut).best.program);
}

/// Devices whose guesses are the best programs of full searches of all operators.
class Guessed : public testing::Test {
protected:
  static constexpr const char* kMore = "BMM [1, 128, 1024 | 256]";
  static constexpr const char* kDeep = "BMM [1, 128, 512 | 1024]";
  void SetUp() override {
    SyntheticPlan device({kOut, kUp, kKeys, kMore, kDeep}, found);
    InFull in_full;
    PlanTuneOptions options;
    options.baseline = &in_full;
    run(device, options);
  }
  void guess_best(SyntheticPlan& device) {
    for (auto& [key, kept] : found) device.guesses[key] = kept.best.program;
  }
  double best_us(const char* op) { return found.at(op).best.microseconds; }
  Store found, store;
};

TEST_F(Guessed, TriesOneProgramAndReusesItWhenNothingCanBeGained) {
  SyntheticPlan device({kUp, kMore, kOut}, store);
  guess_best(device);
  device.enough = best_us(kOut);
  ASSERT_LT(device.enough, std::min(best_us(kUp), best_us(kMore)));
  PlanTuneReport report = run(device);
  ASSERT_EQ(report.lines.size(), 3u);
  EXPECT_EQ(report.lines[0].name, kOut);
  EXPECT_EQ(report.lines[0].trials, 1);
  EXPECT_EQ(report.lines[0].reused_from, "");
  for (size_t i : {1u, 2u}) EXPECT_NE(report.lines[i].reused_from, "") << "no full search";
  EXPECT_EQ(report.trials, device.measured()) << "the guess is measured once";
  EXPECT_LE(report.trials, 1 + 2 * 30);
  EXPECT_EQ(store.size(), 3u);
  for (double clock : {0.97, 0.9}) { // relative to the clock at the measurement of the peak
    Store none;
    SyntheticPlan slower({kOut}, none);
    guess_best(slower);
    slower.enough = clock * best_us(kOut);
    slower.enough_now = best_us(kOut);
    EXPECT_EQ(run(slower).trials == 1, clock > 0.94) << "near to it";
  }
}

TEST_F(Guessed, TrialsAreExpectedBeforeAnythingIsReused) {
  for (const char* at_peak : {kOut, kUp, kMore}) {
    Store none;
    SyntheticPlan device({kOut, kUp, kMore, kDeep}, none);
    guess_best(device);
    for (auto& [key, kept] : found)
      device.enough_of[key] = (key == at_peak ? 1 : 0.93) * kept.best.microseconds;
    double ratios = 0;
    int reuses = 0;
    for (const PlanTuneLine& line : run(device).lines) {
      if (line.reused_from.empty()) continue;
      ++reuses;
      ratios += line.planned / static_cast<double>(line.trials);
    }
    ASSERT_GT(reuses, 0);
    EXPECT_GT(ratios / reuses, 0.8);
    EXPECT_LT(ratios / reuses, 1.4) << "here no guess can be beaten, so that all end after nine";
  }
}

/// Stops at the first program, and records it.
class First final : public Device {
public:
  std::string name() const override { return "first"; }
  DeviceLimits limits() const override { return {}; }
  bool stopped() const override { return tried.has_value(); }
  std::optional<double> measure(const Program& program) override {
    tried = program;
    return 1;
  }
  std::optional<Program> tried;
};

TEST_F(Guessed, SkipsTheFullSearchWhenReuseFindsOnlyTheGuess) {
  First first;
  (void)tune_by_reuse(*read_operator(kUp), found.at(kOut).best.program, first);
  ASSERT_TRUE(first.tried);
  SyntheticPlan device({kOut, kUp}, store);
  guess_best(device);
  device.guesses[kUp] = *first.tried;
  device.alone = first.tried;
  device.enough = best_us(kOut);
  PlanTuneReport report = run(device);
  EXPECT_EQ(report.lines[1].reused_from, kOut);
  EXPECT_EQ(report.lines[1].trials, 1);
  EXPECT_EQ(report.lines[1].planned, 1);
}

TEST_F(Guessed, PublishedReuseHasNoFirstTrials) {
  SyntheticPlan device({kOut, kUp}, store);
  guess_best(device);
  device.enough = HUGE_VAL;
  PlanTuneOptions options;
  options.until_enough = false;
  for (const PlanTuneLine& line : run(device, options).lines) EXPECT_GT(line.trials, 8);
}

TEST_F(Guessed, ContinuesAfterAStopInFirstTrials) {
  SyntheticPlan device({kOut, kUp, kMore}, store);
  guess_best(device);
  device.stop_after = 2;
  PlanTuneReport report = run(device);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.trials, 2);
  EXPECT_EQ(count(report, TuneState::Stopped), 3u);
  device.stop_after = INT64_MAX;
  EXPECT_EQ(run(device).lines.size(), 3u);
  EXPECT_EQ(store.size(), 3u);
}

TEST(PlanSession, TimesTheLibraryOnlyOnRequest) {
  Store store;
  SyntheticPlan device({kOut, kUp}, store);
  for (const PlanTuneLine& line : run(device).lines) EXPECT_EQ(line.library_us, 0);
  EXPECT_EQ(device.library_asked, 0);
}

TEST(PlanSession, NothingIsComparedWhereTheUntunedWayWasTheFastest) {
  Store store, other, third;
  SyntheticPlan device({kOut}, store);
  run(device);
  EXPECT_EQ(device.compared, 1);
  SyntheticPlan second({kOut}, other);
  second.guessed = second.untuned = store.at(kOut).best.program;
  second.enough = store.at(kOut).best.microseconds; // nothing is faster
  PlanTuneReport report = run(second);
  EXPECT_EQ(second.compared, 0);
  EXPECT_EQ(report.lines[0].state, TuneState::NotFaster);
  EXPECT_EQ(other.at(kOut).untuned_us, other.at(kOut).best.microseconds);
  // Equal operators elsewhere have other times, so that they are compared.
  SyntheticPlan alike({kOut}, third);
  alike.add_alike("the same, elsewhere", kOut);
  alike.guessed = alike.untuned = store.at(kOut).best.program;
  alike.enough = second.enough;
  run(alike);
  EXPECT_EQ(alike.compared, 1);
}

TEST(PlanSession, ReuseEndsWhereNothingIsGained) {
  Store store;
  SyntheticPlan first({kOut}, store);
  run(first);
  auto trials = [&](bool until_enough) {
    Store copy = store;
    SyntheticPlan device({kOut, kUp}, copy);
    PlanTuneOptions options;
    options.until_enough = until_enough;
    PlanTuneReport report = run(device, options);
    EXPECT_EQ(report.lines.back().reused_from, kOut);
    return report.lines.back().trials;
  };
  EXPECT_LT(trials(true), trials(false));
}

TEST(PlanSession, PatienceEndsASearch) {
  SyntheticDevice device;
  FullSearchOptions options;
  options.trials = 1000;
  options.patience = 64;
  FullSearchResult found = search_fully(*read_operator(kOut), device, options);
  EXPECT_LT(found.trials, 1000);
  EXPECT_TRUE(found.best);
}

} // namespace
} // namespace tg::tune
