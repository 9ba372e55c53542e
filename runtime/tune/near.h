// Programs for operators that nobody tuned, from the nearest of those that somebody did: what a
// plan may try before it runs, in some milliseconds. The features of the neighbour's program say
// which programs are likely: those of Algorithm 1 (reuse.h), without its trials. A few of them run
// in turns with the untuned way, and what comes of it is kept, that nothing was faster, too, so
// that it is asked once. None is used that was not measured here: one guessed for another shape may
// be many times slower.
#pragma once

#include "runtime/tune/plan_device.h"

namespace tg::tune {

/// At most `most` programs of `target` that are legal: of those that Algorithm 1 might try the ones
/// whose features, block by block, are nearest to what the reused program's suggest; the likeliest
/// first. `reused`: the best program of an operator that it can reuse. What `late` ends is as far
/// as it came.
std::vector<Program> likely_programs(
    const Operator& target, const Program& reused, const Device& device, size_t most,
    llvm::function_ref<bool()> late = [] { return false; });

struct NearOptions {
  double milliseconds = 0; // for all operators; what is begun may take a little more
  size_t neighbours = 2;   // of an operator that are asked
  size_t programs = 2;     // of each neighbour
};

struct NearReport {
  size_t asked = 0;  // operators of which nothing was known
  size_t alone = 0;  // of them: those without a neighbour
  size_t tried = 0;  // of them: those whose programs ran
  size_t faster = 0; // of those
};

/// What takes most of a run is asked first. What is found is kept as a search that was cut off: it
/// is used, a tuner goes on from it, and no other operator reuses it.
NearReport try_near(PlanDevice& device, const NearOptions& options);

} // namespace tg::tune
