// Asking, every so many steps, whether a work is to end: a phase over a million nodes asks some
// hundred times a second, and what asking costs does not matter. Once the answer is yes it stays
// so.
#pragma once

#include <llvm/ADT/STLExtras.h>

#include <cstdint>

namespace tg {

class Poll {
public:
  /// `stop` may be empty: then never.
  explicit Poll(llvm::function_ref<bool()> stop) : stop_(stop) {}

  /// Counts `steps` of some ten nanoseconds each; true if the work is to end.
  bool after(uint64_t steps = 1) {
    constexpr uint64_t kBetween = 50'000;
    taken_ += steps;
    if (stopped_ || !stop_ || taken_ < kBetween) return stopped_;
    return now();
  }
  /// Asks at once.
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
