// Tests work in parts: each part runs once, the first on the calling thread.
#include "lang/core/support/threads.h"

#include <gtest/gtest.h>
#include <llvm/ADT/STLExtras.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

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

#if !defined(__SANITIZE_THREAD__) // ThreadSanitizer itself needs address space
TEST(InParts, RunsPartsWithoutAFreeThread) {
  auto limited = [] {
    rlimit none = {1, 1}; // no further address space, so no stack for a new thread
    setrlimit(RLIMIT_AS, &none);
    std::array<std::atomic<int>, 16> done = {};
    in_parts(done.size(), [&](size_t part) { ++done[part]; });
    _exit(llvm::all_of(done, [](int times) { return times == 1; }) ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(AvailableCores, AreThoseOfTheThread) {
  EXPECT_GE(available_cores(), 1);
  int of_one = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    of_one = sched_setaffinity(0, sizeof one, &one) == 0 ? available_cores() : 1;
  }).join();
  EXPECT_EQ(of_one, 1);
}

TEST(InParts, CallsTheFunctionOfTheWaitingCaller) {
  std::atomic<int> done = 0;
  bool waited = false;
  in_parts(
      3, [&](size_t) { ++done; },
      [&](llvm::function_ref<void()> wait) {
        wait();
        waited = done == 3;
      });
  EXPECT_TRUE(waited);
}

} // namespace
} // namespace tg
