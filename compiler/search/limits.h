// What ends a search from outside (somebody's wish, the clock, memory), what else every strategy
// is given, and what it reports while it goes on. Every strategy asks the same question in the same
// order; nodes and budgets it counts itself.
#pragma once

#include "compiler/search/trace.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tg {

enum class StopReason : uint8_t { Saturated, Iterations, Nodes, Time, Memory, Cancelled };
/// "saturated", "node limit", …
inline llvm::StringRef stop_reason_text(StopReason reason) {
  switch (reason) {
  case StopReason::Saturated: return "saturated";
  case StopReason::Iterations: return "iteration limit";
  case StopReason::Nodes: return "node limit";
  case StopReason::Time: return "time limit";
  case StopReason::Memory: return "memory limit";
  case StopReason::Cancelled: return "interrupted";
  }
  return "";
}

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

/// What a search tells, while it goes on, to whoever watches it. Told from any thread, never from
/// two at once; where nobody watches, nothing is told, and nothing that is told changes a result.
struct SearchProgress {
  double seconds = 0, time_limit_s = 0;
  double source_us = 0, best_us = 0, bound_us = 0; // bound 0: none yet
  size_t nodes = 0, simulations = 0;
  std::string where = {};
  std::vector<RuleCount> rules = {}; // that paid, most often first
};

using TellProgress = std::function<void(const SearchProgress&)>;

/// Between two times that a search which finds nothing says that it is still there.
inline constexpr double kBetweenTellsS = 0.1;

} // namespace tg
