// The portfolio: the best choice that can be had in a time, and a certified bound beside it.
//
//   1. greedy on trees and on distinct nodes; a start that is known
//   2. reductions, and the independent parts of what is left (reduce.h, parts.h)
//   3. in each part: local search on the DAG cost (sharing.h), exact search (exact_search.h), where
//      these settle nothing simulated annealing (annealing.h), then branch and cut (branch_cut.h),
//      small parts at once, larger ones in the solver's process with their share of the time
//   4. CBC on the parts that are still open, for its cuts are of other kinds; then the tree again
//
// The bound is the sum over the parts of what their relaxations, cuts and trees certify. At any
// moment there is a choice: `options.stop` is told what it costs and can end the work with it.
#pragma once

#include "compiler/extract/solver/ilp.h"

namespace tg {

/// Never worse than either greedy. `options.start` counts among the choices known at the start.
/// Errors: `no_solution`.
Result<Extraction> extract_best(const ExtractionProblem& problem, const IlpOptions& options = {});

} // namespace tg
