// The plan of an optimisation's time: the only place where a deadline is divided among phases. It
// is made once, from what ends the whole and the work that follows the search, and each phase asks
// it for its StopToken when the phase begins. Memory is shared along with time.
//
// Shares are of the time that is left when a phase begins, so a phase that ends early leaves its
// time to those after it. A phase that overruns shortens the next ones, but no phase ends after the
// deadline by more than its grace. Graces increase in the order of the phases, so that all end
// within a second. Without a deadline no phase has one, and the phases' own limits hold.
#pragma once

#include "lang/core/support/stop.h"

namespace tg {

/// The work after search and extraction, for which time is kept.
struct LaterWork {
  bool whole_runs = false; // the result is run beside the source
  bool replay = false;     // the chain of rewrites is checked against the rules
  bool proof = false;      // the result is verified, which includes a replay
};

/// How a search divides what it is given.
struct SearchWork {
  bool extracts_at_the_end = false; // explores first; else it extracts as it goes
  bool greedy = false;              // that extraction solves no program
  bool explains = false;            // a chain of rewrites is made, which takes memory
};

/// The limits of a search, from the moment that they were asked for. Seconds are infinite if there
/// is no deadline.
struct SearchTime {
  StopToken explore, extract;
  double explore_s = 0;
  double settle_s = 0; // until when searches may begin anew with better prices
};

/// The limits of one comparison of whole runs.
struct ComparisonTime {
  double seconds = 0;
  double patience_s = 0; // more seconds, while the samples do not decide
};

class TimePlan {
public:
  /// No deadline, and nothing follows the search.
  TimePlan() = default;
  explicit TimePlan(StopToken end, LaterWork later = {}) : end_(std::move(end)), later_(later) {}

  /// Ends everything; for what has no share of its own.
  const StopToken& end() const { return end_; }
  /// The timing of operators before the search.
  StopToken pricing() const;
  SearchTime search(const SearchWork& work) const;
  /// Chains of rewrites, while the e-graphs that they come from are still held.
  StopToken explanation() const;
  /// Whole graphs loaded and run, on a device or by a judge.
  StopToken whole_runs() const;
  /// At most `wanted`, and no more than is left. Where prices are `guessed`, which took no time,
  /// the patience ends with the first ten seconds of the plan.
  ComparisonTime comparison(ComparisonTime wanted, bool guessed) const;
  /// Other kernels tried on the result, in seconds.
  double kernel_choice_s() const;
  /// The replay of the chain and the proof.
  StopToken verification() const;

private:
  StopToken end_;
  LaterWork later_;
  Stopwatch since_;
};

} // namespace tg
