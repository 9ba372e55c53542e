// The choice between the source and the found graph. A graph that costs more than the source, has
// other outputs, or runs slower is never returned (DECISIONS.md, "Do no harm").
#pragma once

#include "compiler/optimizer/finalists.h"

namespace tg {

/// Returns the found graph, or the source with the reason in the notes of the report. Decides by
/// prices of the graphs in the form in which they are used, by group prices if there are any, and
/// by whole runs if `pricing` has a runner and the found graph was not judged in an earlier search.
/// Moves the graph out of `found`.
Optimized judge(const Graph& source, Finalist& found, llvm::ArrayRef<Rule> rules,
                const PricingContext& pricing, const OptimizeOptions& options,
                OptimizeReport report);

} // namespace tg
