// Simulated annealing on the DAG cost (Kirkpatrick, Gelatt and Vecchi 1983), one class at a time: a
// class that the choice uses takes another of its nodes, what only the old node needed goes, what
// the new one needs comes. A move costs what it changes and not what the problem has, so a second
// tries a million of them where greedy (improve_by_sharing) can choose anew a thousand times.
//
// Invariant: every class that can be extracted has a node, whether the choice uses it or not, and
// these nodes form no cycle. Uses are counted; the cost is that of the classes with a use.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

struct AnnealLimits {
  double seconds = 1;
  uint64_t moves = UINT64_MAX; // of all runs together
  uint64_t seed = 1;
};

/// Improves a sound choice: first only down, then pairs of runs from hot to cold, one from five
/// times the heat of the other, each pair four times as long as the one before and every run from
/// the best choice so far, until time or moves are used up. True if the choice has become cheaper.
/// `stop`, asked now and then, ends the work. Byte limits are not looked at.
bool improve_by_annealing(const ExtractionProblem& problem, Choice& choice,
                          const AnnealLimits& limits, llvm::function_ref<bool()> stop = {});

// Local search on the DAG cost, for what greedy cannot see: a class that is dear alone and cheap
// when several share it (one joined matmul instead of four). A move declares a class paid for and
// lets greedy choose anew; it is kept if the true cost of what comes out is lower. It is the "add"
// and "drop" heuristic of facility location (Kuehn and Hamburger 1963) with greedy as the
// assignment. Then, from the best choice, other nodes of its classes, repaired by greedy with what
// is chosen nearly free.

/// Improves a sound choice until no move helps or the time is over. Moves are tried in the order of
/// classes. True if the choice has become cheaper. `stop`, asked before each move, ends the work.
bool improve_by_sharing(const ExtractionProblem& problem, Choice& choice, double seconds,
                        llvm::function_ref<bool()> stop = {});

} // namespace tg
