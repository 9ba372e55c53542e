// Limits that end a search from outside (cancellation, clock, memory), other inputs common to all
// strategies, and progress reports. Every strategy checks these limits in the same order; each
// strategy counts nodes and budgets itself.
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
/// Returns "saturated", "node limit", and so on.
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

/// Common part of the options of each strategy.
struct SearchLimits {
  StopToken stop;                // shared by the whole process
  double time_limit_s = 60;      // of this search alone
  size_t memory_limit_mb = 4096; // of e-graphs and the tables of this search
  uint64_t seed = 1;             // for strategies that draw random numbers
  SearchTrace* trace = nullptr;  // filled if given

  /// `bytes` is the current or peak size of the search's tables. It limits one of several searches
  /// in a process; the process-wide memory ceiling of the token ends all of them.
  std::optional<StopReason> reached(double seconds, size_t bytes) const {
    if (stop.cancelled()) return StopReason::Cancelled;
    if (seconds >= time_limit_s || stop.late()) return StopReason::Time;
    if (bytes >= memory_limit_mb << 20 || stop.full()) return StopReason::Memory;
    return std::nullopt;
  }
};

/// A progress report of a running search. Reports may come from any thread, but never from two at
/// once. They are made only if a callback is given, and they do not affect the result.
struct SearchProgress {
  double seconds = 0, time_limit_s = 0;
  double source_us = 0, best_us = 0, bound_us = 0; // bound 0: none yet
  size_t nodes = 0, simulations = 0;
  std::string where = {};
  std::vector<RuleCount> rules = {}; // rules that lowered the cost, most frequent first
};

using NotifyProgress = std::function<void(const SearchProgress&)>;

/// Minimum time between two progress reports.
inline constexpr double kBetweenNotificationsS = 0.1;

} // namespace tg
