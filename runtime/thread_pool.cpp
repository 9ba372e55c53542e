#include "runtime/thread_pool.h"

#include "lang/core/support/threads.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tg {

namespace {

/// How long a thread waits awake: longer than most pauses between two loops of a run.
constexpr std::chrono::microseconds kSpin{100};

void relax() {
#if defined(__SSE__)
  _mm_pause();
#endif
}

using Clock = std::chrono::steady_clock;

/// Decides when a caller works alone: where other threads compete for the cores, the system
/// preempts a worker in the midst of a chunk every few milliseconds, and the caller waits until it
/// resumes. A loop that lost more time so than its caller worked bars workers for a while, which
/// doubles each time.
class Patience {
public:
  bool is_over(Clock::time_point now) const { return now < alone_until_; }
  /// Notes a loop that ended at `end`: its caller worked for `worked`, and then waited for `lost`
  /// while no worker computed.
  void note(Clock::duration worked, Clock::duration lost, Clock::time_point end) {
    bool was_put_aside = lost > kLeastWait + worked / 2;
    if (was_put_aside) alone_until_ = end + pause_;
    pause_ = was_put_aside ? std::min(2 * pause_, kLongest) : std::max(pause_ / 2, kShortest);
  }

private:
  static constexpr Clock::duration kLeastWait = std::chrono::microseconds(500),
                                   kShortest = std::chrono::milliseconds(5),
                                   kLongest = std::chrono::milliseconds(200);
  Clock::time_point alone_until_ = {};
  Clock::duration pause_ = kShortest;
};

/// Returns the value once it differs from `old`, or `old` after `spin`. Stays awake.
uint32_t spin_for_change(const std::atomic<uint32_t>& value, uint32_t old,
                         std::chrono::microseconds spin) {
  constexpr int kLooks = 32; // iterations between two readings of the clock
  auto end = Clock::now() + spin;
  uint32_t now = value.load(std::memory_order_acquire);
  while (now == old && Clock::now() < end)
    for (int i = 0; i < kLooks && now == old; ++i) {
      relax();
      now = value.load(std::memory_order_acquire);
    }
  return now;
}

/// Returns the value once it differs from `old`: awake for `spin`, then asleep.
uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old,
                         std::chrono::microseconds spin) {
  uint32_t now = spin_for_change(value, old, spin);
  while (now == old) {
    value.wait(old, std::memory_order_acquire);
    now = value.load(std::memory_order_acquire);
  }
  return now;
}

/// Returns the processor time that a thread has used, 0 where the system does not tell.
Clock::duration processor_time(pthread_t thread) {
  clockid_t clock;
  timespec time = {};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// How a thread computes with floats, and the exceptions that it has met.
#if defined(__SSE__)
constexpr unsigned kFlags = 0x3f;
unsigned float_modes() { return _mm_getcsr() & ~kFlags; }
void set_float_modes(unsigned modes) { _mm_setcsr(modes); } // clears all flags
unsigned float_flags() { return _mm_getcsr() & kFlags; }
void raise_float_flags(unsigned flags) { _mm_setcsr(_mm_getcsr() | flags); }
#else
unsigned float_modes() { return 0; }
void set_float_modes(unsigned) { std::feclearexcept(FE_ALL_EXCEPT); }
unsigned float_flags() { return static_cast<unsigned>(std::fetestexcept(FE_ALL_EXCEPT)); }
void raise_float_flags(unsigned flags) {
  if (flags) std::feraiseexcept(static_cast<int>(flags));
}
#endif

constexpr size_t kCacheLine = 64;

} // namespace

/// The workers of one caller. `state_` counts the workers inside the loop and records whether it
/// is open for more: a worker that wakes late finds it closed and touches nothing.
class ThreadPool::Team {
public:
  Team() : process_(getpid()) { slots_.push_back(std::make_unique<Slot>()); }

  ~Team() {
    for (auto& slot : slots_) {
      if (!slot->started) continue;
      slot->end_thread.store(true, std::memory_order_relaxed);
      wake(*slot);
      pthread_join(slot->thread, nullptr);
    }
  }

  /// Returns true if the workers belong to this process: fork() copies their handles,
  /// but not the threads.
  bool is_alive() const { return process_ == getpid(); }

  void run(int threads, int64_t chunks, Work work) {
    Clock::time_point begin = Clock::now();
    start_workers(threads, begin);
    if (patience_.is_over(begin)) {
      for (int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk, 0);
      return;
    }
    open(threads, chunks, work);
    work_through(0);
    Clock::time_point done = Clock::now();
    uint32_t inside = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    Clock::duration lost = wait_for_workers(inside, threads);
    patience_.note(done - begin, lost, Clock::now());
    raise_float_flags(flags_.exchange(0, std::memory_order_relaxed));
  }

private:
  struct alignas(kCacheLine) Slot {
    std::atomic<int64_t> next = 0; // its first chunk that no thread has claimed
    int64_t end = 0;
    alignas(kCacheLine) std::atomic<uint32_t> loops = 0; // for which its worker was woken
    std::atomic<bool> end_thread = false;
    // The worker. The caller's slot has none, nor does a slot whose thread could not be started.
    Team* team = nullptr;
    int number = 0;
    pthread_t thread = {};
    bool started = false;
    Clock::duration time_before = {}; // its processor time when the caller began to wait
  };
  static constexpr uint32_t kOpen = uint32_t{1} << 31;
  static constexpr Clock::duration kStartAgain = std::chrono::milliseconds(100);

  /// Returns zero if there are more threads than cores, so that a spinning thread does not occupy a
  /// core that another needs.
  std::chrono::microseconds spin(int threads) const {
    return threads <= cores_ ? kSpin : std::chrono::microseconds(0);
  }

  static void wake(Slot& slot) {
    slot.loops.fetch_add(1, std::memory_order_release);
    slot.loops.notify_one();
  }

  /// Starts the workers that are not there yet. After a failure, such as for want of memory, the
  /// next loops do without, and a later one tries again.
  void start_workers(int threads, Clock::time_point now) {
    while (slots_.size() < static_cast<size_t>(threads)) slots_.push_back(std::make_unique<Slot>());
    if (now < next_start_) return;
    for (int number = 1; number < threads; ++number)
      if (!slots_[static_cast<size_t>(number)]->started && !start_worker(number)) {
        next_start_ = now + kStartAgain;
        return;
      }
  }

  bool start_worker(int number) {
    Slot& own = *slots_[static_cast<size_t>(number)];
    own.team = this;
    own.number = number;
    auto run = [](void* slot) -> void* {
      auto& own = *static_cast<Slot*>(slot);
      own.team->serve(own, own.number);
      return nullptr;
    };
    // std::thread reports a failed start by an exception, but our libraries
    // are built without exceptions.
    own.started = pthread_create(&own.thread, nullptr, run, &own) == 0;
    return own.started;
  }

  void open(int threads, int64_t chunks, const Work& work) {
    threads_ = static_cast<int>(std::min<int64_t>(threads, chunks));
    work_ = &work;
    modes_ = float_modes();
    for (int64_t slot = 0; slot < threads_; ++slot) {
      Slot& one = *slots_[static_cast<size_t>(slot)];
      one.next.store(chunks * slot / threads_, std::memory_order_relaxed);
      one.end = chunks * (slot + 1) / threads_;
    }
    state_.store(kOpen, std::memory_order_release);
    for (int slot = 1; slot < threads_; ++slot) wake(*slots_[static_cast<size_t>(slot)]);
  }

  /// Works through a slot's own chunks, then through the remaining chunks of other slots.
  void work_through(int slot) {
    for (int i = 0; i < threads_; ++i) {
      Slot& from = *slots_[static_cast<size_t>((slot + i) % threads_)];
      while (true) {
        int64_t chunk = from.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= from.end) break;
        (*work_)(chunk, slot);
      }
    }
  }

  /// Waits until no worker is inside the closed loop. Returns the part of the wait in which none
  /// computed: a worker that has more to do than the caller had is not preempted. The processor
  /// times are read only once the caller has nothing to do but sleep.
  Clock::duration wait_for_workers(uint32_t inside, int threads) {
    while (inside != 0) {
      uint32_t now = spin_for_change(state_, inside, spin(threads));
      if (now == inside) break;
      inside = now;
    }
    if (inside == 0) return {};
    Clock::time_point begin = Clock::now();
    for (auto& slot : slots_)
      if (slot->started) slot->time_before = processor_time(slot->thread);
    while (inside != 0) inside = wait_for_change(state_, inside, std::chrono::microseconds(0));
    Clock::duration computed = {};
    for (auto& slot : slots_)
      if (slot->started)
        computed = std::max(computed, processor_time(slot->thread) - slot->time_before);
    return Clock::now() - begin - computed;
  }

  bool enter() {
    uint32_t state = state_.load(std::memory_order_acquire);
    while (state & kOpen)
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) return true;
    return false;
  }

  /// Clears the worker's flags so that it does not carry them into another loop,
  /// which it may enter too late to set its modes.
  void leave() {
    if (unsigned flags = float_flags()) {
      flags_.fetch_or(flags, std::memory_order_relaxed);
      set_float_modes(float_modes());
    }
    uint32_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
    if (!(before & kOpen)) state_.notify_one(); // the caller waits
  }

  void serve(Slot& own, int slot) {
    uint32_t seen = 0;
    int threads = 2;
    while (true) {
      seen = wait_for_change(own.loops, seen, spin(threads));
      if (own.end_thread.load(std::memory_order_relaxed)) return;
      if (!enter()) continue;
      threads = threads_;
      if (slot < threads) { // otherwise it was woken for the previous loop, which had more threads
        set_float_modes(modes_);
        work_through(slot);
      }
      leave();
    }
  }

  const pid_t process_;
  const int cores_ = available_cores(); // of the thread that makes the team, thus of its workers
  std::vector<std::unique_ptr<Slot>> slots_; // the first is the caller's
  Patience patience_;
  Clock::time_point next_start_ = {}; // of workers, after one could not be started
  // The loop. Written while it is closed and no worker is inside.
  int threads_ = 1;
  const Work* work_ = nullptr;
  unsigned modes_ = 0;
  alignas(kCacheLine) std::atomic<uint32_t> state_ = 0;
  std::atomic<unsigned> flags_ = 0;
};

ThreadPool::ThreadPool() = default;

ThreadPool::~ThreadPool() {
  while (std::unique_ptr<Team> team = take_team())
    if (!team->is_alive()) (void)team.release();
}

namespace {

struct SharedPool {
  std::mutex mutex;
  std::weak_ptr<ThreadPool> pool;
};

SharedPool& shared_pool() {
  static SharedPool shared;
  return shared;
}

} // namespace

std::shared_ptr<ThreadPool> ThreadPool::shared() {
  // fork() waits for the mutex, so that the child cannot inherit it locked by a thread
  // that it does not have.
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { shared_pool().mutex.lock(); }, [] { shared_pool().mutex.unlock(); },
                     [] { shared_pool().mutex.unlock(); });
  std::lock_guard lock(shared_pool().mutex);
  std::shared_ptr<ThreadPool> now = shared_pool().pool.lock();
  if (!now) shared_pool().pool = now = std::make_shared<ThreadPool>();
  return now;
}

void ThreadPool::run(int threads, int64_t chunks, Work work) {
  if (threads <= 1 || chunks <= 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk, 0);
    return;
  }
  std::unique_ptr<Team> team = take_team();
  if (team && !team->is_alive()) (void)team.release(); // its threads do not exist in this process
  if (!team) team = std::make_unique<Team>();
  team->run(threads, chunks, work);
  return_team(std::move(team));
}

std::unique_ptr<ThreadPool::Team> ThreadPool::take_team() {
  for (std::atomic<Team*>& place : idle_)
    if (place.load(std::memory_order_relaxed))
      if (Team* team = place.exchange(nullptr, std::memory_order_acq_rel))
        return std::unique_ptr<Team>(team);
  return nullptr;
}

void ThreadPool::return_team(std::unique_ptr<Team> team) {
  for (std::atomic<Team*>& place : idle_) {
    Team* none = nullptr;
    if (!place.compare_exchange_strong(none, team.get(), std::memory_order_acq_rel)) continue;
    (void)team.release();
    return;
  }
}

} // namespace tg
