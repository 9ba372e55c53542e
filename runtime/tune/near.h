// Quick programs for operators that were never tuned, from their nearest tuned neighbours.
// A plan may try them before it runs, in a few milliseconds.
// The features of the neighbour's program determine the likely programs:
// those of Algorithm 1 (reuse.h), without its trials.
// A few of them run interleaved with the untuned implementation.
// The result is stored, even if nothing was faster, so that the comparison runs only once.
// No program is used without having been measured here: a program guessed for another shape may be
// many times slower.
#pragma once

#include "runtime/tune/plan_device.h"

namespace tg::tune {

/// Returns at most `most` legal programs of `target`, the likeliest first.
/// Among the programs that Algorithm 1 might try, they are those whose features, block by block,
/// are nearest to the features that the reused program suggests.
/// `reused` is the best program of an operator that `target` can reuse.
/// If `late` returns true, the result is incomplete.
std::vector<Program> likely_programs(
    const Operator& target, const Program& reused, const Device& device, size_t most,
    llvm::function_ref<bool()> late = [] { return false; });

struct NearOptions {
  double milliseconds = 0; // for all operators; a comparison that has begun may take a little more
  size_t neighbours = 2;   // considered for one operator
  size_t programs = 2;     // from each neighbour
};

struct NearReport {
  size_t asked = 0;  // operators without a stored result
  size_t alone = 0;  // of these, those without a neighbour
  size_t tried = 0;  // of these, those whose programs ran
  size_t faster = 0; // of these, those with a faster program
};

/// Starts with the operators that take most of a run. Results are stored like those
/// of an interrupted search: they are used, a tuner continues from them,
/// and no other operator reuses them.
NearReport try_near(PlanDevice& device, const NearOptions& options);

} // namespace tg::tune
