// What ends a search from outside (somebody's wish, the clock, memory) and what else every strategy
// is given. Every strategy asks the same question in the same order; nodes and budgets it counts
// itself.
#pragma once

#include "compiler/search/trace.h"
#include "lang/core/stop.h"

#include <llvm/ADT/StringRef.h>

#include <optional>

namespace tg {

enum class StopReason : uint8_t { Saturated, Iterations, Nodes, Time, Memory, Cancelled };
llvm::StringRef stop_reason_text(StopReason reason); // "saturated", "node limit", …

/// The options of each strategy begin with these.
struct SearchLimits {
  StopToken stop;                // of all that runs
  double time_limit_s = 60;      // this search's own
  size_t memory_limit_mb = 4096; // of e-graphs and the search's own tables
  uint64_t seed = 1;             // of what is drawn, where anything is
  SearchTrace* trace = nullptr;  // filled where it is given

  /// `bytes`: what the search's tables hold, or have held at most. That ends one search of several
  /// that share the process, as what the process holds (the token's ceiling) ends all of them.
  std::optional<StopReason> reached(double seconds, size_t bytes) const {
    if (stop.cancelled()) return StopReason::Cancelled;
    if (seconds >= time_limit_s || stop.late()) return StopReason::Time;
    if (bytes >= memory_limit_mb << 20 || stop.full()) return StopReason::Memory;
    return std::nullopt;
  }
};

} // namespace tg
