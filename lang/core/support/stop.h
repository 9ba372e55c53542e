// When work has to end: at somebody's wish (Ctrl-C), at a time, or when the process holds so much
// memory. One small value that each command makes once and hands to all that takes long (search,
// extraction, explanation, verification, preparation, measurements), which asks it now and then.
// Limits of a phase of its own come on top of it; nothing else says when to stop.
//
// Invariant: a wish is never taken back while something runs by it, and a ceiling once reached
// stays reached, so that what was asked once and said yes says yes from then on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace tg {

// How much memory this process holds, as the system counts it: what accounts of tables leave out
// (allocators, libraries, weights) is in it. Asking is cheap enough for inner loops.

/// Resident memory now; 0 where the system does not say.
uint64_t resident_bytes();

/// An amount of resident memory that something must not grow beyond.
/// May be asked by several threads.
///
/// Invariant: once reached it stays so, even if memory is given back, so that who asks twice hears
/// the same. The next phase has a ceiling of its own.
class MemoryCeiling {
public:
  explicit MemoryCeiling(uint64_t bytes) : bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  /// What may still be taken.
  uint64_t left() const {
    uint64_t held = resident_bytes();
    return held < bytes_ ? bytes_ - held : 0;
  }
  /// By a look that is at most some milliseconds old. What the allocator keeps for later does not
  /// count: it goes back to the system before the answer is yes.
  bool reached();

private:
  uint64_t bytes_;
  std::atomic<bool> reached_ = false;
};

/// The wish that what runs ends, made by a signal handler or another thread. Its time is kept,
/// since what has to be finished has so long from then on.
class Cancellation {
public:
  using Clock = std::chrono::steady_clock;

  /// Safe in a signal handler. The first counts.
  void request() {
    int64_t none = 0, now = Clock::now().time_since_epoch().count();
    at_.compare_exchange_strong(none, std::max<int64_t>(now, 1), std::memory_order_relaxed);
  }
  /// Before the next thing runs.
  void forget() { at_.store(0, std::memory_order_relaxed); }
  bool requested() const { return at_.load(std::memory_order_relaxed) != 0; }
  Clock::time_point at() const {
    return Clock::time_point(Clock::duration(at_.load(std::memory_order_relaxed)));
  }

private:
  static_assert(std::atomic<int64_t>::is_always_lock_free, "a signal handler writes it");
  std::atomic<int64_t> at_ = 0; // 0: nobody has asked
};

class StopToken {
public:
  using Clock = std::chrono::steady_clock;

  /// Never.
  StopToken() = default;
  /// When asked to; null: never. The wish must outlive all copies.
  explicit StopToken(const Cancellation* cancellation) : cancellation_(cancellation) {}

  /// At the latest in so many seconds from now; negative ones count as none.
  StopToken within(double seconds) const {
    StopToken out = *this;
    out.deadline_ = std::min(deadline_, Clock::now() + duration(seconds));
    return out;
  }
  /// For what has to be finished: so many seconds after the deadline, or after somebody has asked.
  StopToken with_grace(double seconds) const {
    StopToken out = *this;
    out.grace_ = duration(seconds);
    return out;
  }
  /// Or when this process holds so many bytes; 0: no limit.
  StopToken holding(uint64_t bytes) const {
    StopToken out = *this;
    out.memory_ = bytes ? std::make_shared<MemoryCeiling>(bytes) : nullptr;
    return out;
  }
  /// For a phase of its own, which starts anew with what memory there is: of what is not taken yet
  /// it gets this share, and leaves the rest to those after it and to vectors that double.
  StopToken with_memory(double share = 1) const {
    if (!memory_) return *this;
    auto room = static_cast<double>(memory_->left());
    return holding(memory_->bytes() - static_cast<uint64_t>((1 - share) * room));
  }

  bool asked() const { return cancelled() || late() || full(); }
  /// Somebody has asked for it, and the grace is over.
  bool cancelled() const {
    if (!cancellation_ || !cancellation_->requested()) return false;
    return grace_ == Clock::duration::zero() || Clock::now() >= cancellation_->at() + grace_;
  }
  bool late() const {
    return deadline_ != Clock::time_point::max() && Clock::now() >= deadline_ + grace_;
  }
  bool full() const { return memory_ && memory_->reached(); }
  /// False: nothing ever stops it.
  bool possible() const {
    return cancellation_ || memory_ || deadline_ != Clock::time_point::max();
  }
  /// Up to the deadline, without the grace; not below 0, infinite where there is none.
  double seconds_left() const {
    if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
    return std::max(std::chrono::duration<double>(deadline_ - Clock::now()).count(), 0.0);
  }
  /// The largest number where there is no limit.
  uint64_t bytes_left() const {
    return memory_ ? memory_->left() : std::numeric_limits<uint64_t>::max();
  }

private:
  /// Of any number of seconds; a clock cannot count to infinity.
  static Clock::duration duration(double seconds) {
    constexpr double kMost = 1e9; // thirty years
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::clamp(seconds, 0.0, kMost)));
  }

  const Cancellation* cancellation_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::duration grace_ = Clock::duration::zero();
  std::shared_ptr<MemoryCeiling> memory_;
};

// The clock of everything that is timed: one that is never set back.

/// Runs from the moment that it is made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace tg
