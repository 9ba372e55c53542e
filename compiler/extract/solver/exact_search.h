// Depth-first branch and bound without a linear program. A state has open classes, which are needed
// but have no node yet. The open class with the fewest interesting nodes is decided next. At each
// step bounds are combined from the open classes and their landmarks, with all decided classes
// free: bounds of classes that share nothing below add up, as in local_bounds.h.
//
// On problems with many alternatives but small solutions (sums in all orders, filters), it needs
// milliseconds where branch and cut does not finish in minutes. On problems with solutions of
// hundreds of classes it has no chance and gives up early.
#pragma once

#include "compiler/extract/solver/branch_cut.h"

namespace tg {

/// Searches for choices that cost less than `cutoff`. Rewards and byte limits are not
/// supported, and problems with more than some thousand classes are skipped. Deterministic
/// unless stopped by time.
BranchCutResult exact_search(const ExtractionProblem& problem, double cutoff,
                             const BranchCutLimits& limits, const BranchCutEvents& events);

} // namespace tg
