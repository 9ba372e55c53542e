// The choice between the source and the found graph: nothing that costs more than the source, gives
// other outputs, or runs slower is returned (DECISIONS.md, "Do no harm").
#pragma once

#include "compiler/optimizer/finalists.h"

namespace tg {

/// Returns the found graph, or the source with the reason among the notes of the report. Prices
/// decide, in the form in which the graphs are used; prices of groups, where there are any; and
/// whole runs, where `pricing` has a runner and the found graph was not judged in an earlier
/// search. Moves the graph out of `found`.
Optimized judge(const Graph& source, Finalist& found, llvm::ArrayRef<Rule> rules,
                const PricingContext& pricing, const OptimizeOptions& options,
                OptimizeReport report);

} // namespace tg
