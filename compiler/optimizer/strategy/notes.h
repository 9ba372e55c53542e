// The searches that grow one e-graph, which is then extracted from: saturation, random rollouts,
// the published tree search.
#pragma once

#include "compiler/optimizer/optimize.h"

namespace tg {

/// Grows the e-graph as the options say, and notes what happened.
void explore(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
             const OptimizeOptions& options, OptimizeReport& report);

/// Rules that matched, for the report.
void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   OptimizeReport& report);

/// Extractions that used up their time: a quieter machine may find more.
void note_cut_extractions(size_t count, OptimizeReport& report);

} // namespace tg
