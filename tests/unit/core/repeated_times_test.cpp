// Tests statistics on invented samples, without a clock.
#include "lang/core/support/repeated_times.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

TEST(Timing, PercentilesInterpolate) {
  Timing t = summarise_times({5, 1, 4, 2, 3});
  EXPECT_EQ(t.runs, 5u);
  EXPECT_DOUBLE_EQ(t.median_us, 3);
  EXPECT_DOUBLE_EQ(t.p10_us, 1.4);
  EXPECT_DOUBLE_EQ(t.p90_us, 4.6);
  EXPECT_DOUBLE_EQ(t.min_us, 1);
}

TEST(Timing, OneSampleIsItsOwnMedian) {
  Timing t = summarise_times({7});
  EXPECT_DOUBLE_EQ(t.median_us, 7);
  EXPECT_DOUBLE_EQ(t.p90_us, 7);
}

TEST(Comparison, EqualTimesAreWithinNoise) {
  std::vector<double> samples = {10, 11, 9, 10, 12, 10, 8, 10, 10, 11};
  std::vector<double> others = {11, 10, 10, 9, 10, 12, 10, 8, 11, 10};
  Comparison c = compare_times(samples, others);
  EXPECT_FALSE(c.second_faster());
  EXPECT_FALSE(c.second_slower());
  EXPECT_LE(c.low, c.ratio);
  EXPECT_LE(c.ratio, c.high);
}

TEST(Comparison, AClearGainIsSeenThroughDrift) {
  // The machine becomes slower by half. Pairs keep the ratio near 1.25.
  std::vector<double> slow, fast;
  for (int i = 0; i < 20; ++i) {
    double machine = i < 10 ? 1 : 1.5, jitter = 1 + 0.01 * (i % 3);
    slow.push_back(100 * machine * jitter);
    fast.push_back(80 * machine);
  }
  Comparison c = compare_times(slow, fast);
  EXPECT_TRUE(c.second_faster());
  EXPECT_NEAR(c.ratio, 1.26, 0.02);
  EXPECT_TRUE(compare_times(fast, slow).second_slower());
}

TEST(Comparison, IsUndecidedIfItWasCutShort) {
  Comparison c = compare_times({2, 2, 2}, {1, 1, 1});
  c.cut = true;
  EXPECT_FALSE(c.second_faster());
}

TEST(Comparison, FewPairsNeedUnanimity) {
  EXPECT_TRUE(compare_times({2, 2, 2}, {1, 1, 1}).second_faster());
  EXPECT_FALSE(compare_times({2, 2, 0.9}, {1, 1, 1}).second_faster());
}

TEST(Comparison, BurstsOfOtherWorkDoNotHideAGain) {
  // In two of three runs, other work multiplies the time, at different moments for each side.
  std::vector<double> slow, fast;
  for (int i = 0; i < 60; ++i) {
    slow.push_back(100 * (i % 3 == 0 ? 1 : 2 + i % 4));
    fast.push_back(90 * (i % 3 == 1 ? 1 : 2 + i % 5));
  }
  Comparison c = compare_times(slow, fast, kRunsPerPair);
  EXPECT_DOUBLE_EQ(c.low, 100.0 / 90);
  EXPECT_DOUBLE_EQ(c.high, 100.0 / 90);
  Comparison single = compare_times(slow, fast);
  EXPECT_LE(single.low, 1) << "single runs would not have shown it";
}

/// The machine is three times slower in bursts that hit the second more often. The two medians come
/// from different moments and have a ratio of 1.8, while the pairs have 1.1.
TEST(Comparison, TimesHaveTheRatioThatIsShownBesideThem) {
  std::vector<double> first, second;
  for (int i = 0; i < 300; ++i) {
    double machine = i % 100 < 55 ? 3 : 1;
    first.push_back(100 * machine * (1 + 0.01 * (i % 7)));
    second.push_back(90 * machine * (1 + 0.01 * (i % 5)) *
                     (i % 100 >= 45 && i % 100 < 55 ? 0.33 : 1));
  }
  for (size_t pair : {size_t{1}, kRunsPerPair}) {
    Comparison c = compare_times(first, second, pair);
    EXPECT_GT(c.first.median_us / c.second.median_us, 1.5 * c.ratio) << "else it shows nothing";
    EXPECT_DOUBLE_EQ(c.first_us / c.second_us, c.ratio);
    EXPECT_GE(c.first_us, c.first.min_us);
  }
}

TEST(Comparison, ALastGroupMayBeSmaller) {
  Comparison c = compare_times({2, 2, 2, 2}, {1, 1, 1, 1}, 3);
  EXPECT_DOUBLE_EQ(c.ratio, 2);
  EXPECT_EQ(c.first.runs, 4u);
}

} // namespace
} // namespace tg
