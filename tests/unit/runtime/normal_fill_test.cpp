// Tests that random numbers computed in vectors have the same bits as one by one.
#include "runtime/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace tg {
namespace {

std::vector<float> filled(const RandomStream& stream, double scale, size_t count, int threads) {
  std::vector<float> out(count, -1);
  fill_normal(stream, scale, out, threads);
  return out;
}

/// Returns the index of the first element whose bits differ from the stream's, or the size.
size_t first_difference(const RandomStream& stream, double scale, llvm::ArrayRef<float> got) {
  for (size_t i = 0; i < got.size(); ++i)
    if (std::bit_cast<uint32_t>(got[i]) !=
        std::bit_cast<uint32_t>(static_cast<float>(scale * stream.normal(i))))
      return i;
  return got.size();
}

/// Enough numbers for the slow path, which occurs once in 100,000.
TEST(NormalFill, HasTheBitsOfTheStream) {
  constexpr size_t kCount = 1'000'000;
  for (uint64_t seed : {1, 2}) {
    RandomStream stream(seed, "weight w");
    EXPECT_EQ(first_difference(stream, 0.02, filled(stream, 0.02, kCount, 1)), kCount);
  }
}

/// Floats that are denormal, underflow to zeros of either sign, or overflow.
TEST(NormalFill, HasThemAtTheEndsOfTheRange) {
  constexpr size_t kCount = 20'000;
  RandomStream stream(3, "weight w");
  for (double scale : {0.0, 1e-300, 1e-46, 1e-42, 1e-38, 1e30, 1e38, 1e300, 1e308})
    EXPECT_EQ(first_difference(stream, scale, filled(stream, scale, kCount, 1)), kCount) << scale;
}

TEST(NormalFill, NeitherThreadsNorSizesMakeADifference) {
  RandomStream stream(4, "weight w");
  for (size_t count : {0, 1, 2, 7, 8, 9, 15, 17, 600'001})
    for (int threads : {0, 1, 2, 3, 16})
      EXPECT_EQ(first_difference(stream, 1, filled(stream, 1, count, threads)), count)
          << count << " numbers on " << threads << " threads";
}

} // namespace
} // namespace tg
