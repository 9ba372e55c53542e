// Polls a stop callback once every so many steps: a phase over a million nodes calls it some
// hundred times a second, so that the time of a call does not matter. A stop is final.
#pragma once

#include <llvm/ADT/STLExtras.h>

#include <cstdint>

namespace tg {

class Poll {
public:
  /// An empty `stop` never stops.
  explicit Poll(llvm::function_ref<bool()> stop) : stop_(stop) {}

  /// Counts `steps` of some ten nanoseconds each. Returns true if the work has to end.
  bool after(uint64_t steps = 1) {
    constexpr uint64_t kBetween = 50'000;
    taken_ += steps;
    if (stopped_ || !stop_ || taken_ < kBetween) return stopped_;
    return now();
  }
  /// Calls the callback now.
  bool now() {
    taken_ = 0;
    if (!stopped_ && stop_) stopped_ = stop_();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

private:
  llvm::function_ref<bool()> stop_;
  uint64_t taken_ = 0;
  bool stopped_ = false;
};

} // namespace tg
