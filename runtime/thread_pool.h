// Worker threads for loops. A loop is divided into chunks. The caller of run()
// works through them itself, and awake workers claim some of them.
// A worker that the system has descheduled, or that does not exist,
// therefore delays a loop only if it holds a chunk at that moment.
//
// A worker that runs out of work spins for 100 microseconds and then sleeps. After a loop waited
// for a worker that the system had preempted, its caller works alone for some milliseconds, and
// longer if that happens again. A worker that computes all the time does not count as preempted,
// however long the caller waits for it. Workers that could not be started are retried later.
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

/// Serves many concurrent callers: each gets its own team of workers,
/// which is free for the next caller when the loop ends. Safe across fork():
/// the child starts its own workers.
class ThreadPool {
public:
  /// Returns the pool of this process, created for the first holder and destroyed with the last.
  static std::shared_ptr<ThreadPool> shared();

  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Returns the threads for a loop that is best divided into `chunks`; 0: one chunk per thread.
  Threads threads(int count, int chunks = 0);

  /// `slot` is the number of the working thread: below `threads`, and 0 for the caller.
  /// No two calls with the same slot run at the same time.
  using Work = llvm::function_ref<void(int64_t chunk, int slot)>;
  /// Calls work(chunk, slot) once for each chunk below `chunks`,
  /// on the caller and at most threads - 1 workers, and returns when all have ended.
  /// As long as its thread is awake, a slot gets the same chunks in each loop of the same form,
  /// so that data in the core's caches is reused.
  /// Workers compute in the caller's rounding and denormal modes.
  /// The exception flags that they raise are set in the caller when run() returns,
  /// as if it had done all the work itself.
  void run(int threads, int64_t chunks, Work work);

private:
  class Team;
  std::unique_ptr<Team> take_team();
  void return_team(std::unique_ptr<Team> team);

  static constexpr size_t kIdleTeams = 16; // further idle teams are destroyed
  std::array<std::atomic<Team*>, kIdleTeams> idle_ = {};
};

/// The threads that a loop may use, and the number of chunks into which it is best divided
/// for them.
class Threads {
public:
  /// The caller alone.
  Threads() = default;
  Threads(ThreadPool& pool, int count, int chunks) : pool_(&pool), count_(count), chunks_(chunks) {
    assert(count >= 1 && chunks >= count && "each thread requires a chunk");
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
