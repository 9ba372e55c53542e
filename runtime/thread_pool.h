// Worker threads for loops. A loop is cut into chunks, and the caller of run() works through them
// itself; workers that are awake take some of them off it. So a worker that the system has put
// aside, or that does not exist, delays a loop only if it holds a chunk at that moment.
//
// A worker that runs out of work spins for 100 microseconds and then sleeps. Where a loop waited
// for a worker that the system had preempted, its caller works alone for some milliseconds, and
// longer where that happens again. A worker that computes all the while is not preempted, however
// long the caller waits for it. Workers that could not be started are tried again later.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>

namespace tg {

class Threads;

/// For many callers at once: each gets a team of workers of its own, which the next caller gets
/// when the loop ends. Safe across fork(): the child starts workers of its own.
class ThreadPool {
public:
  /// The pool of this process, made for the first holder and ended with the last one.
  static std::shared_ptr<ThreadPool> shared();

  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// For a loop that is best cut into `chunks`; 0: into one for each thread.
  Threads threads(int count, int chunks = 0);

  /// `slot` is the number of the thread that works, below `threads`, and 0 for the caller: no two
  /// calls with one slot run at once.
  using Work = llvm::function_ref<void(int64_t chunk, int slot)>;
  /// Calls work(chunk, slot) once for each chunk below `chunks`, on the caller and at most
  /// threads - 1 workers, and returns when all have ended. The same slot gets the same chunks in
  /// each loop of that form, as far as its thread is awake, so that what a core has in its caches
  /// is used again. Workers compute in the caller's rounding and denormal modes, and the exception
  /// flags that they raise are the caller's when run() returns, as if it had done all itself.
  void run(int threads, int64_t chunks, Work work);

private:
  class Team;
  std::unique_ptr<Team> take_team();
  void give_back(std::unique_ptr<Team> team);

  static constexpr size_t kIdleTeams = 16; // more are ended
  std::array<std::atomic<Team*>, kIdleTeams> idle_ = {};
};

/// The threads that a loop may use, and into how many chunks it is best cut for them.
class Threads {
public:
  /// The caller alone.
  Threads() = default;
  Threads(ThreadPool& pool, int count, int chunks) : pool_(&pool), count_(count), chunks_(chunks) {
    assert(count >= 1 && chunks >= count && "a chunk for each thread");
  }
  operator int() const { return count_; }
  int chunks() const { return chunks_; }
  void run(int64_t chunks, ThreadPool::Work work) const {
    if (count_ > 1 && chunks > 1) return pool_->run(count_, chunks, work);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk, 0);
  }

private:
  ThreadPool* pool_ = nullptr; // null: one thread
  int count_ = 1, chunks_ = 1;
};

inline Threads ThreadPool::threads(int count, int chunks) {
  return {*this, count, std::max(count, chunks)};
}

} // namespace tg
