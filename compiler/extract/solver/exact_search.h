// Depth-first branch and bound without a linear program: what is open are classes that must be
// there and have no node yet; the open class with the fewest nodes of interest is decided next.
// Bounds are combined from the open classes and their landmarks, anew at each step with all that is
// decided for free: what has nothing in common below adds up, as in local_bounds.h.
//
// Where alternatives are many and solutions are of few nodes (sums in all orders, filters), it
// takes milliseconds for what branch and cut cannot close in minutes. Where solutions are of
// hundreds of classes it has no chance, and says so soon.
#pragma once

#include "compiler/extract/solver/branch_cut.h"

namespace tg {

/// Looks for choices that cost less than `cutoff`. For problems without rewards and without a byte
/// limit; does nothing beyond some thousand classes. Deterministic where it is not stopped by time.
BranchCutResult exact_search(const ExtractionProblem& problem, double cutoff,
                             const BranchCutLimits& limits, const BranchCutEvents& events);

} // namespace tg
