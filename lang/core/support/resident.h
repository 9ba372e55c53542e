// How much memory this process holds, as the system counts it: what accounts of tables leave out
// (allocators, libraries, weights) is in it. Asking is cheap enough for inner loops.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tg {

/// Resident memory now; 0 where the system does not say.
uint64_t resident_bytes();

/// An amount of resident memory that something must not grow beyond. May be asked by several
/// threads.
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

} // namespace tg
