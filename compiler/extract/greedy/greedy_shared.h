// The sharing-aware cost function of Monte Carlo tree search over tensor graphs (PACT 2024), as
// published, so that its results can be reproduced; greedy_dag.h is what to use instead.
//
// A class keeps a history: classes that its choice has paid for, and how much. A node's children
// are paid in order: the first that has a history in full, its history becomes the node's; a later
// one nothing if it is in the history; else its cost less the largest amount in the history that
// its own history has too (one overlap, not all), or its cost if it has no history.
//
// What is known to be wrong with it: only one overlap is taken off, so that a nest of three levels
// whose true cost is 7 is said to cost 8; amounts are what was paid when they were entered; the
// order of children and of classes matters; it is not monotone, so stale amounts stay, and what is
// chosen can even be cyclic (then greedy repairs it here; the paper does not say).
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

#include <optional>

namespace tg {

struct GreedySharedResult {
  Choice choice;            // trimmed to what the roots reach
  double reported_cost = 0; // what the cost function says
  std::string note;         // where the choice had to be repaired, or work ended early
};

/// nullopt if a root cannot be extracted. Negative costs count as 0. `stop`, asked often, ends the
/// work as the time limit does.
std::optional<GreedySharedResult> greedy_shared(const ExtractionProblem& problem, double seconds,
                                                llvm::function_ref<bool()> stop = {});

} // namespace tg
