// Branch and cut on the DAG cost, with these specialities of extraction:
//   - variables for classes, so that branching decides whether a class is used at all;
//   - cuts for cycles (cycle_cuts.h) at every tree node, and at the root cuts for classes that all
//     alternatives need (funnel_cuts.h);
//   - rows from local bounds (local_bounds.h);
//   - rounding by greedy, whose choices are acyclic by construction;
//   - fixing of columns by their reduced costs, after which the remaining problem is reduced again
//     and the solution restarted.
//
//   minimise  sum cost(n) x(n)             y(c) = sum over nodes n of c of x(n) <= 1
//   root c:                                y(c) = 1
//   class c, and class p with nodes that need c:  y(c) >= sum over those of p of x(n)
//   with rewards, c not a root:            y(c) <= sum over users n of c of x(n)
//
// CLP keeps time limits only roughly, can take any amount of memory, and its assertions end the
// process. So this runs in the solver's process (process.h). Tests call it directly.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

struct BranchCutLimits {
  double seconds = 60;
  int64_t nodes = INT64_MAX; // of the tree
  /// Limit of simplex iterations at one node of the tree; a node that exceeds it is abandoned.
  int64_t iterations_of_node = INT64_MAX;
  int64_t iterations = INT64_MAX; // limit of simplex iterations in total
};

struct BranchCutEvents {
  /// Called with a choice below the cutoff that is cheaper than all before, and its cost.
  llvm::function_ref<void(const Choice&, double)> choice;
  /// Called with a growing lower bound on the cost of every choice.
  llvm::function_ref<void(double)> bound;
  /// Polled; true ends the work as the time limit does. May be empty.
  llvm::function_ref<bool()> stop = {};
};

struct BranchCutResult {
  /// No choice costs less than the smaller of this and the cutoff.
  double bound = -kInfiniteCost;
  /// True if the best reported choice, or else the cutoff, is the optimum.
  bool proven = false;
  int64_t nodes = 0;
};

/// Searches for choices that cost less than `cutoff`. Byte limits are not supported. Deterministic
/// unless stopped by time.
BranchCutResult branch_and_cut(const ExtractionProblem& problem, double cutoff,
                               const BranchCutLimits& limits, const BranchCutEvents& events);

/// Returns the largest g such that all costs are integer multiples of g: two choices then differ in
/// cost by at least g or not at all. Returns 0 if there is no useful g.
double cost_unit(const ExtractionProblem& problem);
/// Returns the highest cost of an interesting choice: the largest multiple of that unit below the
/// cutoff, or without a unit slightly less than the cutoff.
double below_cutoff(double cutoff, double unit);

} // namespace tg
