// Simulated annealing on the DAG cost (Kirkpatrick, Gelatt and Vecchi 1983). A move switches one
// class of the choice to another of its nodes: classes that only the old node needed leave the
// choice, and classes that only the new node needs enter it. The time of a move is proportional to
// the change, not to the problem. In the time in which improve_by_sharing makes a thousand greedy
// choices, annealing tries a million moves.
//
// Invariant: every extractable class has a node, whether or not the choice uses the class, and
// these nodes form no cycle. Uses are counted; the cost is the sum over the classes with a use.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

struct AnnealLimits {
  double seconds = 1;
  uint64_t moves = UINT64_MAX; // over all runs
  uint64_t seed = 1;
};

/// Improves a sound choice. The first run only descends. Then come pairs of runs from hot to cold;
/// the second run of a pair starts five times as hot as the first. Each pair is four times as long
/// as the previous one, and every run starts from the best choice so far, until time or moves run
/// out. Returns true if the choice became cheaper. `stop` is polled and ends the work. Byte limits
/// are ignored.
bool improve_by_annealing(const ExtractionProblem& problem, Choice& choice,
                          const AnnealLimits& limits, llvm::function_ref<bool()> stop = {});

// Local search on the DAG cost for choices that greedy misses: a class that is expensive alone but
// cheap when several users share it (one joined matmul instead of four). A move declares a class as
// paid for, chooses again by greedy, and is kept if the true cost of the new choice is lower. This
// is the "add" and "drop" heuristic of facility location (Kuehn and Hamburger 1963) with greedy as
// the assignment. A second phase tries other nodes of the classes in the best choice and repairs
// each change by greedy, at nearly no cost for the chosen nodes.

/// Improves a sound choice until no move helps or the time runs out. Moves are tried in the order
/// of classes. Returns true if the choice became cheaper. `stop` is polled before each move and
/// ends the work.
bool improve_by_sharing(const ExtractionProblem& problem, Choice& choice, double seconds,
                        llvm::function_ref<bool()> stop = {});

} // namespace tg
