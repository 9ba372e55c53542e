// Estimates how many programs reuse will measure, before anything is tuned:
// the mean over the possible best programs of the reused operator. Source: ETO (README).
#pragma once

#include "runtime/tune/ranges.h"

namespace tg::tune {

struct EstimateOptions {
  int samples = 10; // of the reused operator's blocks; 0: all of them, weighted
  uint64_t seed = 1;
  int64_t thread_limit = 1024; // exclusive limit of the threads of a block
};

/// The estimate for one sketch.
double expected_trials(const Operator& target, const Operator& reused, Sketch sketch,
                       const EstimateOptions& options = {});
/// The maximum over sketches, because the best sketch is not known in advance.
double expected_trials(const Operator& target, const Operator& reused,
                       const EstimateOptions& options = {});

} // namespace tg::tune
