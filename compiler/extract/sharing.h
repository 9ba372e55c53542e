// Local search on the DAG cost, for what greedy cannot see: a class that is dear alone and cheap
// when several share it (one joined matmul instead of four). A move declares a class paid for and
// lets greedy choose anew; it is kept if the true cost of what comes out is lower. It is the "add"
// and "drop" heuristic of facility location (Kuehn and Hamburger 1963) with greedy as the
// assignment. Then, from the best choice, other nodes of its classes, repaired by greedy with what
// is chosen nearly free.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// Improves a sound choice until no move helps or the time is over. Moves are tried in the order of
/// classes. True if the choice has become cheaper. `stop`, asked before each move, ends the work.
bool improve_by_sharing(const ExtractionProblem& problem, Choice& choice, double seconds,
                        llvm::function_ref<bool()> stop = {});

} // namespace tg
