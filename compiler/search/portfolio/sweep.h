// A pass over a network: where it is cut this time, which stretches are equal, and what is to be
// searched. Passes cut at other places, so that a later one sees across the cuts of an earlier one.
#pragma once

#include "compiler/search/portfolio/searcher.h"
#include "compiler/search/portfolio/stretches.h"

namespace tg {

struct Sweep {
  std::vector<NodeId> operators; // of a run, in their order
  std::vector<Stretch> stretches;
  std::vector<CutOut> places;    // by stretch
  std::vector<uint32_t> task_of; // by stretch: equal ones have one
  std::vector<SearchTask> tasks; // that refer to `places`
};

/// The cuts of the pass of that number; four in turn differ. Without `repeats` equal stretches are
/// searched one by one.
Sweep plan_sweep(const Graph& graph, StretchOptions options, int number, bool repeats);

} // namespace tg
