// The plan of an optimisation's time: the only place where a deadline is divided among phases. It
// is made once, from the overall deadline and the work that follows the search. Each phase requests
// its StopToken from it when the phase begins. Memory is divided in the same way.
//
// Shares are of the time that is left when a phase begins, so a phase that ends early leaves its
// time to later ones. A phase that overruns shortens the next ones, but no phase ends later than
// its grace after the deadline. Graces increase in the order of the phases, so that all end within
// a second. Without a deadline no phase has one, and the phases' own limits apply.
#pragma once

#include "lang/core/support/stop.h"

namespace tg {

/// The work after search and extraction for which time is reserved.
struct ReservedWork {
  bool whole_runs = false; // the result is run beside the source
  bool replay = false;     // the chain of rewrites is checked against the rules
  bool proof = false;      // the result is verified, which includes a replay
};

/// How a search divides its time.
struct SearchWork {
  bool extracts_after_exploring = false; // explores first; otherwise it extracts as it goes
  bool greedy = false;                   // extraction solves no program
  bool explains = false;                 // derives a chain of rewrites, which takes memory
};

/// The limits of a search, from the moment of the request. Seconds are infinite if there is no
/// deadline.
struct SearchTime {
  StopToken explore, extract;
  double explore_s = 0;
  double refine_s = 0; // time after which searches do not restart with better prices
};

/// The limits of one comparison of whole runs.
struct ComparisonTime {
  double seconds = 0;
  double patience_s = 0; // additional seconds while the samples do not decide
};

class TimePlan {
public:
  /// No deadline, and nothing follows the search.
  TimePlan() = default;
  explicit TimePlan(StopToken end, ReservedWork later = {}) : end_(std::move(end)), later_(later) {}

  /// Ends all phases; also used by work without its own share.
  const StopToken& end() const { return end_; }
  /// The timing of operators before the search.
  StopToken pricing() const;
  SearchTime search(const SearchWork& work) const;
  /// For deriving chains of rewrites, while their e-graphs are in memory.
  StopToken explanation() const;
  /// For loading and running whole graphs, on a device or by a judge.
  StopToken whole_runs() const;
  /// Returns at most `wanted`, limited to the time that is left. If prices are `guessed`, which
  /// took no time, the patience ends with the first ten seconds of the plan.
  ComparisonTime comparison(ComparisonTime wanted, bool guessed) const;
  /// Seconds for trying other kernels on the result.
  double kernel_choice_s() const;
  /// For the replay of the chain and the proof.
  StopToken verification() const;

private:
  StopToken end_;
  ReservedWork later_;
  Stopwatch since_;
};

} // namespace tg
