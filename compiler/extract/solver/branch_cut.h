// Branch and cut on the DAG cost, with what is special about extraction: variables for classes, so
// that branching decides whether a class is there at all; cuts that understand cycles
// (cycle_cuts.h) at every node, and at the root what alternatives come down to (funnel_cuts.h);
// rows from local bounds (local_bounds.h); rounding by greedy, whose choices are acyclic by
// construction; columns fixed by their reduced costs, and what is left reduced again and started
// anew.
//
//   minimise  sum cost(n) x(n)             y(c) = sum over nodes n of c of x(n) <= 1
//   root c:                                y(c) = 1
//   class c, and class p with nodes that need c:  y(c) >= sum over those of p of x(n)
//   with rewards, c not a root:            y(c) <= sum over users n of c of x(n)
//
// CLP keeps time limits only roughly, can take any memory, and its assertions end the process: so
// this runs in the solver's (process.h). Tests call it directly.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

struct BranchCutLimits {
  double seconds = 60;
  int64_t nodes = INT64_MAX; // of the tree
  /// Of the simplex, in the relaxations of one node of the tree; one that takes more is set aside.
  int64_t iterations_of_node = INT64_MAX;
  int64_t iterations = INT64_MAX; // of the simplex, in all
};

struct BranchCutEvents {
  /// A choice below the cutoff, cheaper than all before; what it costs.
  llvm::function_ref<void(const Choice&, double)> choice;
  /// No choice costs less than this; grows.
  llvm::function_ref<void(double)> bound;
  /// Asked now and then: true ends the work, as the time limit does. May be empty.
  llvm::function_ref<bool()> stop = {};
};

struct BranchCutResult {
  /// No choice costs less than this, or than the cutoff.
  double bound = -kInfiniteCost;
  /// The best choice that was reported, or the cutoff, is the optimum.
  bool proven = false;
  int64_t nodes = 0;
};

/// Looks for choices that cost less than `cutoff`. No byte limit. Deterministic where it is not
/// stopped by time.
BranchCutResult branch_and_cut(const ExtractionProblem& problem, double cutoff,
                               const BranchCutLimits& limits, const BranchCutEvents& events);

/// The largest g such that all costs are whole multiples of it: then two choices differ in cost by
/// at least g or not at all. 0 if there is none worth having.
double cost_unit(const ExtractionProblem& problem);
/// The most that a choice of interest may cost: the largest multiple of that unit below the cutoff,
/// or a little less than the cutoff.
double below_cutoff(double cutoff, double unit);

} // namespace tg
