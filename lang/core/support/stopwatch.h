// The clock of everything that is timed: one that is never set back.
#pragma once

#include <chrono>

namespace tg {

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
