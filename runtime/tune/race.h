// Finds out which of several ways to do one thing is faster than the first way,
// in rounds in which each runs once.
// Most candidates of a search are no faster than the first way, and a few rounds show it.
// A way is eliminated as soon as the confidence interval of its ratio shows that it
// is not worth a change, or that another way is faster. The race ends when nothing is undecided.
#pragma once

#include "lang/core/support/repeated_times.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>

namespace tg::tune {

struct RaceOptions {
  size_t most_rounds = 30;
  double most_us = 400'000; // of all counted runs; not before kFewestRounds
  bool strict = false;      // decides nothing if kFewestRounds are estimated to take longer
  double worth = 1.01;      // a smaller speedup is not worth a change
};

/// With fewer pairs the median has no 95% confidence interval.
inline constexpr size_t kFewestRounds = 6;

struct Race {
  size_t best = 1;  // fastest of the others by its runs; 1 if nothing is decided
  Comparison times; // of the first way and `best`
  bool worth = false, decided = true;
  size_t rounds = 0, runs = 0;
};

/// `run` returns the microseconds of a way, 0 to `ways` - 1, or nullopt if it failed,
/// and then the race fails. Also returns nullopt if there is only one way.
std::optional<Race> race(size_t ways, llvm::function_ref<std::optional<double>(size_t)> run,
                         const RaceOptions& options = {});

} // namespace tg::tune
