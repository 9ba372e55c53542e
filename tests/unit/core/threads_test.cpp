// Work in parts: every part is done once, the first on the thread that asks.
#include "lang/core/support/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tg {
namespace {

TEST(InParts, DoesEachPartOnceAndReturnsWhenAllAreDone) {
  for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{9}}) {
    std::vector<std::atomic<int>> done(count);
    in_parts(count, [&](size_t part) { ++done[part]; });
    for (size_t part = 0; part < count; ++part) EXPECT_EQ(done[part], 1) << part << " of " << count;
  }
}

TEST(InParts, DoesTheFirstPartOnTheThreadThatAsks) {
  std::vector<std::thread::id> who(3);
  in_parts(who.size(), [&](size_t part) { who[part] = std::this_thread::get_id(); });
  EXPECT_EQ(who[0], std::this_thread::get_id());
}

} // namespace
} // namespace tg
