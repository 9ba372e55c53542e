#include "compiler/optimizer/time_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace tg {
namespace {

/// Seconds. They are large, so that the time of the test itself is within the tolerance.
constexpr double kLong = 1e6, kNear = 1e3;

SearchTime search_of(ReservedWork later, SearchWork work) {
  return TimePlan(StopToken().within(kLong), later).search(work);
}

TEST(TimePlan, SharesTheSearchWithTheWorkAfterIt) {
  struct Row {
    ReservedWork later;
    SearchWork work;
    double explore, extract; // fractions of the whole
  };
  const Row rows[] = {
      {{}, {}, 1, 1},
      {{}, {.extracts_after_exploring = true}, 0.5, 1},
      {{}, {.extracts_after_exploring = true, .greedy = true}, 0.75, 1},
      {{}, {.greedy = true}, 1, 1},
      {{.whole_runs = true}, {}, 0.6, 0.6},
      {{.replay = true}, {}, 0.75, 0.75},
      {{.proof = true}, {}, 0.5, 0.5},
      {{.replay = true, .proof = true}, {}, 0.5, 0.5},
      {{.whole_runs = true, .proof = true}, {.extracts_after_exploring = true}, 0.15, 0.3},
      {{.whole_runs = true, .replay = true}, {.explains = true}, 0.45, 0.45},
  };
  for (const Row& row : rows) {
    SearchTime time = search_of(row.later, row.work);
    EXPECT_NEAR(time.explore_s, row.explore * kLong, kNear);
    EXPECT_NEAR(time.refine_s, 0.5 * row.explore * kLong, kNear);
    EXPECT_NEAR(time.explore.seconds_left(), row.explore * kLong, kNear);
    EXPECT_NEAR(time.extract.seconds_left(), row.extract * kLong, kNear);
  }
}

TEST(TimePlan, SharesTheOtherPhases) {
  TimePlan plan(StopToken().within(kLong), {.whole_runs = true, .proof = true});
  EXPECT_NEAR(plan.end().seconds_left(), kLong, kNear);
  EXPECT_NEAR(plan.pricing().seconds_left(), 0.55 * kLong, kNear);
  for (const StopToken& stop : {plan.explanation(), plan.whole_runs(), plan.verification()})
    EXPECT_NEAR(stop.seconds_left(), kLong, kNear);
  EXPECT_EQ(plan.kernel_choice_s(), 1);
}

/// No phase has a deadline then. The phases' own limits apply.
TEST(TimePlan, HasNoDeadlineUnlessOneIsGiven) {
  for (ReservedWork later : {ReservedWork{}, ReservedWork{true, true, true}}) {
    TimePlan plan(StopToken(), later);
    SearchTime time = plan.search({.extracts_after_exploring = true});
    for (double seconds : {time.explore_s, time.refine_s, time.explore.seconds_left(),
                           time.extract.seconds_left(), plan.pricing().seconds_left(),
                           plan.whole_runs().seconds_left(), plan.verification().seconds_left()})
      EXPECT_GE(seconds, 1e8); // the clock counts at most thirty years
    EXPECT_FALSE(time.explore.asked());
    EXPECT_EQ(plan.comparison({1.5, 8}, false).seconds, 1.5);
    EXPECT_EQ(plan.comparison({1.5, 8}, false).patience_s, 8);
    EXPECT_EQ(plan.kernel_choice_s(), 1);
  }
}

TEST(TimePlan, LeavesNothingOfNoTimeButGrace) {
  for (double seconds : {0.0, -1.0, 1e-12}) {
    TimePlan plan(StopToken().within(seconds), {.whole_runs = true, .proof = true});
    SearchTime time = plan.search({.extracts_after_exploring = true});
    EXPECT_EQ(time.explore_s, 0);
    EXPECT_EQ(time.refine_s, 0);
    EXPECT_TRUE(time.explore.asked());
    EXPECT_TRUE(plan.pricing().asked());
    EXPECT_EQ(time.extract.seconds_left(), 0);
    EXPECT_EQ(plan.comparison({1.5, 8}, true).seconds, 0);
    EXPECT_EQ(plan.comparison({1.5, 8}, true).patience_s, 0);
    EXPECT_EQ(plan.kernel_choice_s(), 0);
    for (const StopToken& stop :
         {time.extract, plan.explanation(), plan.whole_runs(), plan.verification()}) {
      EXPECT_TRUE(stop.with_grace(0).asked());
      EXPECT_FALSE(stop.with_grace(kLong).asked());
    }
  }
}

TEST(TimePlan, EndsAllPhasesWhenCancelled) {
  Cancellation wish;
  TimePlan plan(StopToken(&wish).within(kLong), {.whole_runs = true});
  SearchTime before = plan.search({});
  EXPECT_FALSE(before.explore.asked());
  wish.request();
  EXPECT_TRUE(before.explore.asked());
  EXPECT_TRUE(plan.pricing().asked());
  EXPECT_TRUE(plan.search({}).explore.asked());
  EXPECT_EQ(plan.comparison({1.5, 8}, false).seconds, 0) << "the least number of runs is made";
  EXPECT_EQ(plan.kernel_choice_s(), 0);
  for (const StopToken& stop :
       {before.extract, plan.explanation(), plan.whole_runs(), plan.verification()})
    EXPECT_TRUE(stop.with_grace(0).cancelled());
}

/// Later phases get less time, and none ends later.
TEST(TimePlan, APhaseThatOverrunsShortensTheNext) {
  constexpr double kWhole = 0.2;
  TimePlan plan(StopToken().within(kWhole), {.whole_runs = true});
  SearchTime time =
      plan.search({.extracts_after_exploring = true}); // until 0.06 s, and until 0.12 s
  Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  EXPECT_TRUE(time.explore.asked());
  double latest = kWhole - watch.seconds();
  EXPECT_LE(time.extract.seconds_left(), std::max(latest - 0.08, 0.0));
  EXPECT_LE(plan.whole_runs().seconds_left(), std::max(latest, 0.0));
  EXPECT_LE(plan.search({}).explore_s, std::max(0.6 * latest, 0.0)) << "of the remaining time";
}

/// The whole then ends within a second.
TEST(TimePlan, GracesGrowInTheOrderOfThePhases) {
  TimePlan plan{StopToken()};
  Cancellation now;
  auto asked_at_once = [&](const StopToken& stop) { return stop.with_grace(0).asked(); };
  EXPECT_FALSE(asked_at_once(plan.verification()));
  now.request();
  TimePlan ended{StopToken(&now)};
  while (!ended.verification().asked()) std::this_thread::yield();
  EXPECT_TRUE(ended.search({}).extract.asked());
  EXPECT_TRUE(ended.explanation().asked());
  EXPECT_TRUE(ended.whole_runs().asked());
}

TEST(TimePlan, PatienceEndsEarlierWithGuessedPrices) {
  TimePlan plan(StopToken().within(kLong));
  EXPECT_EQ(plan.comparison({1.5, 1e5}, false).patience_s, 1e5);
  EXPECT_LE(plan.comparison({1, 100}, true).patience_s, 8);
  EXPECT_EQ(plan.comparison({20, 100}, true).patience_s, 0);
  EXPECT_EQ(plan.comparison({20, 100}, true).seconds, 20);
}

/// Each phase has a share of the memory that is free when it begins, and never more than the whole.
TEST(TimePlan, SharesMemory) {
  if (resident_bytes() == 0) GTEST_SKIP() << "memory is not counted on this system";
  uint64_t room = uint64_t{1} << 40;
  TimePlan plan(StopToken().holding(resident_bytes() + room));
  auto share = [&](const StopToken& stop) {
    return static_cast<double>(stop.bytes_left()) / static_cast<double>(room);
  };
  constexpr double kClose = 0.01;
  EXPECT_NEAR(share(plan.search({}).explore), 0.6, kClose);
  EXPECT_NEAR(share(plan.search({.extracts_after_exploring = true}).explore), 0.4, kClose);
  EXPECT_NEAR(share(plan.search({.explains = true}).explore), 0.36, kClose);
  EXPECT_NEAR(share(plan.search({}).extract), 0.8, kClose);
  EXPECT_NEAR(share(plan.explanation()), 0.6, kClose);
  EXPECT_NEAR(share(plan.verification()), 1, kClose);
}

} // namespace
} // namespace tg
