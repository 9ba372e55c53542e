// Tests loops on the pool: each chunk runs once, for any sizes, concurrent callers, nested loops,
// after a fork, and with or without help from workers. Part of `./dev test --tsan`.
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tg {
namespace {

/// Returns the number of runs of each chunk, or -1 if two calls of a slot overlapped
/// or a slot was out of range.
std::vector<int> runs_of(ThreadPool& pool, int threads, int64_t chunks) {
  std::vector<int> runs(static_cast<size_t>(chunks));
  std::vector<std::atomic<int>> inside(static_cast<size_t>(threads));
  std::atomic<bool> wrong = false;
  pool.run(threads, chunks, [&](int64_t chunk, int slot) {
    if (slot < 0 || slot >= threads) return void(wrong = true);
    if (inside[static_cast<size_t>(slot)]++ != 0) wrong = true;
    ++runs[static_cast<size_t>(chunk)]; // not atomic: a second run would be a data race
    --inside[static_cast<size_t>(slot)];
  });
  if (wrong) runs.assign(runs.size(), -1);
  return runs;
}

TEST(ThreadPool, RunsEachChunkOnce) {
  ThreadPool pool;
  for (int threads : {1, 2, 3, 4, 7})
    for (int64_t chunks : {0, 1, 2, 3, 5, 16, 17, 1000})
      for (int again = 0; again < 20; ++again)
        ASSERT_EQ(runs_of(pool, threads, chunks), std::vector<int>(static_cast<size_t>(chunks), 1))
            << threads << " threads, " << chunks << " chunks";
}

TEST(ThreadPool, RunsManyShortLoopsOfChangingWidth) {
  ThreadPool pool;
  int64_t sum = 0;
  constexpr int kLoops = 20000;
  for (int i = 0; i < kLoops; ++i) {
    std::atomic<int64_t> in_loop = 0;
    pool.run(1 + i % 4, 4, [&](int64_t chunk, int) { in_loop += chunk; });
    sum += in_loop;
  }
  EXPECT_EQ(sum, 6 * kLoops);
}

TEST(ThreadPool, RunsLoopsBehindPausesInWhichWorkersSleep) {
  ThreadPool pool;
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(runs_of(pool, 3, 8), std::vector<int>(8, 1));
  }
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool;
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 20; ++caller) // more than the pool keeps teams
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += runs_of(pool, 1 + i % 3, 7) != std::vector<int>(7, 1);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, RunsLoopsInLoops) {
  ThreadPool pool;
  std::atomic<int> inner = 0;
  pool.run(3, 6, [&](int64_t, int) {
    pool.run(2, 5, [&](int64_t, int) { pool.run(2, 2, [&](int64_t, int) { ++inner; }); });
  });
  EXPECT_EQ(inner, 6 * 5 * 2);
}

TEST(ThreadPool, SharesOnePoolWhileSomeoneHoldsIt) {
  std::shared_ptr<ThreadPool> first = ThreadPool::shared(), second = ThreadPool::shared();
  EXPECT_EQ(first, second);
  first.reset();
  EXPECT_EQ(runs_of(*second, 2, 9), std::vector<int>(9, 1));
  second.reset(); // ends its workers
  EXPECT_EQ(runs_of(*ThreadPool::shared(), 2, 9), std::vector<int>(9, 1));
}

TEST(ThreadPool, MayEndTheSharedPoolWhileOthersRunTheirs) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        wrong += runs_of(*ThreadPool::shared(), 2, 5) != std::vector<int>(5, 1);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

/// As if a process may use fewer cores than the machine has: workers then sleep while they wait.
TEST(ThreadPool, RunsMoreThreadsThanItsCallerHasCores) {
  ThreadPool pool;
  int wrong = 0;
  std::thread caller([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return; // affects this thread and its workers
    for (int i = 0; i < 500; ++i) wrong += runs_of(pool, 4, 9) != std::vector<int>(9, 1);
  });
  caller.join();
  EXPECT_EQ(wrong, 0);
}

#if !defined(__SANITIZE_THREAD__) // ThreadSanitizer does not follow threads into a child
int run_child(ThreadPool* pool, std::shared_ptr<ThreadPool>& shared) {
  bool right = runs_of(*pool, 3, 50) == std::vector<int>(50, 1) &&
               runs_of(*shared, 2, 50) == std::vector<int>(50, 1);
  std::set<std::thread::id> workers;
  std::mutex mutex;
  for (int i = 0; i < 1000 && workers.size() < 2; ++i)
    shared->run(2, 64, [&](int64_t, int) {
      std::this_thread::sleep_for(std::chrono::microseconds(10));
      std::lock_guard lock(mutex);
      workers.insert(std::this_thread::get_id());
    });
  delete pool;
  shared.reset();
  return right && workers.size() == 2 ? 0 : 1;
}

TEST(ThreadPool, StartsWorkersOfItsOwnInAChild) {
  auto pool = std::make_unique<ThreadPool>();
  std::shared_ptr<ThreadPool> shared = ThreadPool::shared();
  (void)runs_of(*pool, 3, 50);
  (void)runs_of(*shared, 2, 50);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60); // a hang ends the child
    _exit(run_child(pool.release(), shared));
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(runs_of(*pool, 3, 50), std::vector<int>(50, 1)) << "the parent's workers live on";
}

/// Forks while other threads run loops, and create and destroy the shared pool.
TEST(ThreadPool, RunsInAChildRegardlessOfOtherThreadsAtTheFork) {
  auto shared = [] { return runs_of(*ThreadPool::shared(), 2, 4) == std::vector<int>(4, 1); };
  std::atomic<bool> end = false;
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!end)
      if (!shared()) _exit(1);
  });
  others.emplace_back([&] {
    while (!end) (void)ThreadPool::shared();
  });
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60); // a hang ends the child
      _exit(shared() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (wrong > 0) break; // each failure takes a minute
  }
  end = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(wrong, 0);
}

/// Returns true if workers join loops after earlier loops had no memory for a thread.
bool starts_workers_later() {
  ThreadPool pool;
  rlimit before = {};
  getrlimit(RLIMIT_AS, &before);
  rlimit none = {1, before.rlim_max};
  setrlimit(RLIMIT_AS, &none);
  bool alone = true, joined = false;
  for (int i = 0; i < 3; ++i)
    pool.run(2, 16, [&](int64_t, int slot) { alone = alone && slot == 0; });
  setrlimit(RLIMIT_AS, &before);
  for (int i = 0; i < 3000 && !joined; ++i) {
    std::atomic<int> of_worker = 0;
    pool.run(2, 2, [&](int64_t, int slot) {
      of_worker += slot;
      std::this_thread::sleep_for(std::chrono::milliseconds(10)); // time for the worker to join
    });
    joined = of_worker > 0;
  }
  return alone && joined;
}

TEST(ThreadPool, StartsWorkersOnceThereIsMemoryForThem) {
  EXPECT_EXIT(_exit(starts_workers_later() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(ThreadPool, RunsLoopsWithoutAFreeThread) {
  auto limited = [] {
    ThreadPool pool;
    rlimit none = {1, 1}; // no further address space, so no stack for a new thread
    setrlimit(RLIMIT_AS, &none);
    std::array<std::atomic<int>, 16> done = {};
    std::atomic<bool> right = true;
    for (int i = 1; i <= 3; ++i) {
      pool.run(4, 16, [&](int64_t chunk, int slot) {
        ++done[static_cast<size_t>(chunk)];
        if (slot != 0) right = false;
      });
      for (auto& times : done) right = right && times == i;
    }
    _exit(right ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}
#endif

/// Runs work(slot) on both threads of a loop. Repeats the loop until the worker joins in time.
void on_both(ThreadPool& pool, llvm::function_ref<void(int)> work) {
  bool both = false;
  while (!both) {
    std::atomic<int> here = 0;
    pool.run(2, 2, [&](int64_t, int slot) {
      ++here;
      auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      while (here < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (slot == 1) both = true, work(slot);
    });
  }
}

TEST(ThreadPool, PassesExceptionFlagsOfWorkersToTheCaller) {
  ThreadPool pool;
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile float inf = std::numeric_limits<float>::infinity(), result = 0;
  on_both(pool, [&](int) { result = inf - inf; });
  EXPECT_TRUE(std::fetestexcept(FE_INVALID));
  std::feclearexcept(FE_ALL_EXCEPT);
  on_both(pool, [&](int) {});
  EXPECT_FALSE(std::fetestexcept(FE_INVALID)) << "flags are given once";
}

/// A worker that is called to a loop of three threads may wake in the next loop, of two.
/// It has no work there, and must not report a flag of an earlier loop.
TEST(ThreadPool, GivesNoFlagOfAnEarlierLoop) {
  ThreadPool pool;
  volatile float inf = std::numeric_limits<float>::infinity(), result = 0;
  auto for_us = [](int microseconds, llvm::function_ref<bool()> until) {
    auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (!until() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  int raised = 0, wrong = 0;
  for (int i = 0; i < 1000 && raised < 20; ++i) {
    std::atomic<bool> third = false;
    pool.run(3, 3, [&](int64_t, int slot) {
      if (slot == 2) {
        result = inf - inf;
        third = true;
      }
      for_us(400, [&] { return third.load(); });
    });
    raised += third;
    pool.run(3, 3, [](int64_t, int) {});
    std::feclearexcept(FE_ALL_EXCEPT);
    pool.run(2, 2, [&](int64_t, int) { for_us(300, [] { return false; }); });
    wrong += std::fetestexcept(FE_INVALID) != 0;
  }
  EXPECT_GT(raised, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, HasWorkersRoundAsTheCallerDoes) {
  ThreadPool pool;
  volatile float one = 1, tiny = 1e-10f, up = 0, near = 0;
  std::fesetround(FE_UPWARD);
  on_both(pool, [&](int) { up = one + tiny; });
  std::fesetround(FE_TONEAREST);
  on_both(pool, [&](int) { near = one + tiny; });
  EXPECT_GT(up, 1.0f);
  EXPECT_EQ(near, 1.0f);
}

std::set<int> slots_of_a_loop(ThreadPool& pool) {
  std::set<int> slots;
  std::mutex mutex;
  pool.run(2, 50, [&](int64_t, int slot) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::lock_guard lock(mutex);
    slots.insert(slot);
  });
  return slots;
}

TEST(ThreadPool, LeavesWorkersOutWhileTheyArePutAside) {
  ThreadPool pool;
  bool left_out = false, came_back = false;
  for (int i = 0; i < 100 && !left_out; ++i) {
    on_both(pool, [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); });
    left_out = slots_of_a_loop(pool) == std::set<int>{0};
  }
  EXPECT_TRUE(left_out);
  for (int i = 0; i < 1000 && !came_back; ++i)
    came_back = slots_of_a_loop(pool) == std::set<int>{0, 1};
  EXPECT_TRUE(came_back);
}

/// Computes for this much of the thread's own processor time.
void compute_for(int64_t microseconds) {
  auto used = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
  };
  for (int64_t end = used() + microseconds; used() < end;) {
  }
}

// One success in many tries is enough, since workers are sometimes preempted on a busy machine.
// The next loop begins before the end of the shortest pause of a pool that takes a long chunk
// for a preempted worker.
TEST(ThreadPool, KeepsWorkersWhoseChunksTakeLonger) {
  ThreadPool pool;
  bool kept = false;
  for (int i = 0; i < 200 && !kept; ++i) {
    on_both(pool, [](int) { compute_for(5000); });
    kept = slots_of_a_loop(pool) == std::set<int>{0, 1};
  }
  EXPECT_TRUE(kept);
}

} // namespace
} // namespace tg
