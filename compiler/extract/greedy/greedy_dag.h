// Greedy on the cost of distinct nodes: each class keeps the set of classes that its choice needs,
// and takes the node whose set, united over its children, costs least; sharing inside a choice is
// exact, sharing between choices is not foreseen. Source: the extraction gym's greedy-dag, here as
// a worklist over sets that share their storage (dag_sets.h).
#pragma once

#include "compiler/extract/greedy/greedy.h"

#include <functional>
#include <optional>

namespace tg {

struct GreedyDagLimits {
  double seconds = 1e9;
  size_t memory_bytes = size_t{448} << 20; // of the sets; growing needs as much again
  std::function<bool()> stop = {};         // asked now and then: true is as the time limit
  const GreedyResult* trees = nullptr;     // the problem's own, where it is known
};

struct GreedyDagResult {
  Choice choice; // trimmed to what the roots reach
  /// What the sets of the roots say that it costs.
  double reported_cost = 0;
  /// Why the work ended before nothing could be improved; empty otherwise.
  std::string stopped;
};

/// nullopt if a root cannot be extracted, or the choice does not keep to the byte limit.
std::optional<GreedyDagResult> greedy_dag(const ExtractionProblem& problem,
                                          const GreedyDagLimits& limits = {});

} // namespace tg
