// Which of some ways to do one thing is faster than the first one, in rounds in which each runs
// once. Most of what a search finds is no faster than what there was, and a few rounds show it: a
// way leaves as soon as the interval of its ratio says that it is not worth it, or that another one
// is faster; when nothing is open the race ends.
#pragma once

#include "lang/core/support/repeated_times.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>

namespace tg::tune {

struct RaceOptions {
  size_t most_rounds = 30;
  double most_us = 400'000; // of all runs that count; not before kFewestRounds
  bool strict = false;      // nothing is decided where kFewestRounds take longer, which runs tell
  double worth = 1.01;      // what is faster by less is not worth a change
};

/// Of fewer pairs no median has an interval of 95%.
inline constexpr size_t kFewestRounds = 6;

struct Race {
  size_t best = 1;  // of the others the fastest, as far as its runs say; 1 where nothing is decided
  Comparison times; // of the first one and that
  bool worth = false, decided = true;
  size_t rounds = 0, runs = 0;
};

/// `run`: microseconds of that way, 0 to `ways` - 1; nullopt: it failed, and so does the race.
/// nullopt also where there is no other way.
std::optional<Race> race(size_t ways, llvm::function_ref<std::optional<double>(size_t)> run,
                         const RaceOptions& options = {});

} // namespace tg::tune
