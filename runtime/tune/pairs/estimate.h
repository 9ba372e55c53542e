// How many programs reuse will measure, before anything is tuned: the mean over programs that the
// reused operator may turn out to have. Source: ETO (README).
#pragma once

#include "runtime/tune/ranges.h"

namespace tg::tune {

struct EstimateOptions {
  int samples = 10; // of the reused operator's blocks; 0: all of them, each with its share
  uint64_t seed = 1;
  int64_t thread_limit = 1024; // threads of a block are fewer
};

/// Of one sketch.
double expected_trials(const Operator& target, const Operator& reused, Sketch sketch,
                       const EstimateOptions& options = {});
/// Of the sketch that wants most: which one is best is not known before.
double expected_trials(const Operator& target, const Operator& reused,
                       const EstimateOptions& options = {});

} // namespace tg::tune
