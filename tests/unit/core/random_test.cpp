#include "lang/core/support/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tg {
namespace {

TEST(RandomStream, IsAFunctionOfSeedNameAndCounter) {
  RandomStream a(1, "w"), b(1, "w"), c(2, "w"), d(1, "v");
  EXPECT_EQ(a.bits(5), b.bits(5));
  EXPECT_NE(a.bits(5), a.bits(6));
  EXPECT_NE(a.bits(5), c.bits(5));
  EXPECT_NE(a.bits(5), d.bits(5));
  EXPECT_EQ(RandomStream(1, "fire2.w").bits(0), 15598835070062270418u); // must never change
}

TEST(RandomStream, UniformIsUniform) {
  constexpr int kBins = 64, kDraws = 64'000;
  std::vector<int> bins(kBins);
  RandomStream stream(3, "bins");
  for (uint64_t i = 0; i < kDraws; ++i) {
    double u = stream.uniform(i);
    ASSERT_TRUE(u > 0 && u < 1);
    ++bins[static_cast<size_t>(u * kBins)];
  }
  double chi2 = 0, expected = double{kDraws} / kBins;
  for (int n : bins) chi2 += (n - expected) * (n - expected) / expected;
  EXPECT_LT(chi2, 120) << "63 degrees of freedom: exceeded once in 50,000";
}

TEST(RandomStream, NormalHasItsMomentsAndNeighboursAreUncorrelated) {
  constexpr uint64_t kDraws = 100'000;
  RandomStream stream(3, "normal"), other(4, "normal");
  double sum = 0, squares = 0, fourth = 0, neighbours = 0, seeds = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    double x = stream.normal(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    neighbours += x * stream.normal(i + 1);
    seeds += x * other.normal(i);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.015);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 3, 0.15);
  EXPECT_NEAR(neighbours / kDraws, 0, 0.015);
  EXPECT_NEAR(seeds / kDraws, 0, 0.015);
  EXPECT_EQ(stream.normal(7), stream.normal_pair(3).second);
}

} // namespace
} // namespace tg
