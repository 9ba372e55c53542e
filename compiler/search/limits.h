// What ends a search from outside: somebody's wish, the clock, memory. Every strategy asks the same
// question in the same order; nodes and budgets it counts itself.
#pragma once

#include "compiler/search/saturate.h"

#include <optional>

namespace tg {

struct OutsideLimits {
  StopToken stop;
  double time_limit_s = 60;
  size_t memory_limit_mb = 4096;
};

/// `bytes`: what the search's tables hold, or have held at most. That ends one search of several
/// that share the process, as what the process holds (the token's ceiling) ends all of them.
inline std::optional<StopReason> limit_reached(const OutsideLimits& limits, double seconds,
                                               size_t bytes) {
  if (limits.stop.cancelled()) return StopReason::Cancelled;
  if (seconds >= limits.time_limit_s || limits.stop.late()) return StopReason::Time;
  if (bytes >= limits.memory_limit_mb << 20 || limits.stop.full()) return StopReason::Memory;
  return std::nullopt;
}

} // namespace tg
