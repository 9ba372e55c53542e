// Decides when work must stop: on request (Ctrl-C), at a time,
// or when the process holds a given amount of memory. Each command makes one small StopToken
// and passes it to everything that takes long (search, extraction, explanation, verification,
// preparation, measurements), which checks it periodically. A phase may add its own limits;
// there is no other way to stop.
//
// Invariant: a request is never withdrawn while work depends on it,
// and a memory ceiling stays reached, so asked() never changes from true to false.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace tg {

// The resident memory of this process as counted by the system.
// It includes memory that the accounting of tables misses (allocators, libraries, weights).
// Reading it is cheap enough for inner loops.

/// Returns the resident memory now; 0 if the system does not report it.
uint64_t resident_bytes();

/// A limit of resident memory. Thread-safe.
///
/// Invariant: once reached, it stays reached, even if memory is freed, so repeated checks agree.
/// The next phase has its own ceiling.
class MemoryCeiling {
public:
  explicit MemoryCeiling(uint64_t bytes) : bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  /// Returns the amount of memory below the limit.
  uint64_t left() const {
    uint64_t held = resident_bytes();
    return held < bytes_ ? bytes_ - held : 0;
  }
  /// Uses a measurement that is at most some milliseconds old. Free memory kept
  /// by the allocator does not count: it is returned to the system before the result can be true.
  bool reached();

private:
  uint64_t bytes_;
  std::atomic<bool> reached_ = false;
};

/// A request to stop, made by a signal handler or another thread.
/// Its time is recorded, because grace periods begin at that time.
class Cancellation {
public:
  using Clock = std::chrono::steady_clock;

  /// Safe in a signal handler. The first request counts.
  void request() {
    int64_t none = 0, now = Clock::now().time_since_epoch().count();
    at_.compare_exchange_strong(none, std::max<int64_t>(now, 1), std::memory_order_relaxed);
  }
  /// Clears the request before the next work runs.
  void forget() { at_.store(0, std::memory_order_relaxed); }
  bool requested() const { return at_.load(std::memory_order_relaxed) != 0; }
  Clock::time_point at() const {
    return Clock::time_point(Clock::duration(at_.load(std::memory_order_relaxed)));
  }

private:
  static_assert(std::atomic<int64_t>::is_always_lock_free, "a signal handler writes it");
  std::atomic<int64_t> at_ = 0; // 0: not requested
};

class StopToken {
public:
  using Clock = std::chrono::steady_clock;

  /// Never stops.
  StopToken() = default;
  /// Stops on request; null: never. The Cancellation must outlive all copies.
  explicit StopToken(const Cancellation* cancellation) : cancellation_(cancellation) {}

  /// Stops at the latest after this number of seconds from now; negative numbers count as 0.
  StopToken within(double seconds) const {
    StopToken out = *this;
    out.deadline_ = std::min(deadline_, Clock::now() + duration(seconds));
    return out;
  }
  /// For work that must be completed: stops this number of seconds after the deadline
  /// or the request.
  StopToken with_grace(double seconds) const {
    StopToken out = *this;
    out.grace_ = duration(seconds);
    return out;
  }
  /// Also stops when this process holds this number of bytes; 0: no limit.
  StopToken holding(uint64_t bytes) const {
    StopToken out = *this;
    out.memory_ = bytes ? std::make_shared<MemoryCeiling>(bytes) : nullptr;
    return out;
  }
  /// For a phase with its own memory limit: gives it this share of the memory that is still free,
  /// and leaves the remainder to later phases and to vectors that double.
  StopToken with_memory(double share = 1) const {
    if (!memory_) return *this;
    auto room = static_cast<double>(memory_->left());
    return holding(memory_->bytes() - static_cast<uint64_t>((1 - share) * room));
  }

  bool asked() const { return cancelled() || late() || full(); }
  /// Returns true if a stop was requested and the grace period is over.
  bool cancelled() const {
    if (!cancellation_ || !cancellation_->requested()) return false;
    return grace_ == Clock::duration::zero() || Clock::now() >= cancellation_->at() + grace_;
  }
  bool late() const {
    return deadline_ != Clock::time_point::max() && Clock::now() >= deadline_ + grace_;
  }
  bool full() const { return memory_ && memory_->reached(); }
  /// Returns false if nothing can ever stop it.
  bool possible() const {
    return cancellation_ || memory_ || deadline_ != Clock::time_point::max();
  }
  /// Returns the time until the deadline without the grace period;
  /// at least 0, infinite without a deadline.
  double seconds_left() const {
    if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
    return std::max(std::chrono::duration<double>(deadline_ - Clock::now()).count(), 0.0);
  }
  /// Returns the largest number if there is no limit.
  uint64_t bytes_left() const {
    return memory_ ? memory_->left() : std::numeric_limits<uint64_t>::max();
  }

private:
  /// Converts any number of seconds; a clock cannot count to infinity.
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

// The clock of all timing: a steady one.

/// Starts when it is constructed.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace tg
