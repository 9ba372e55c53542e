// What a search found by operators' prices, taken on by prices of groups
// (extract/groups/group_refine.h): within the e-graph that it was extracted from where there is
// one, else within e-graphs that the rules in use grow from it, one after the other as long as that
// gains. What comes of it is never dearer by groups than what was found, and by operators never
// dearer than the source.
#pragma once

#include "compiler/optimizer/candidate.h"

namespace tg {

/// The prices of the source, for the report. False where the device does not take it: then prices
/// of groups say nothing.
bool note_groups(const Graph& source, GroupPricer& groups, ExtractionSection& report);

/// Within the e-graph; its best takes the place of `extracted` (no kernels among it).
void refine_extracted(const EGraph& egraph, const Graph& source, const PricingContext& pricing,
                      const OptimizeOptions& options, ExtractedGraph& extracted,
                      OptimizeReport& report);

/// From the cheapest by groups of the candidate and the others, which change places, and from the
/// source: operators' prices may have led away from what is cheap. The better goes on; an unrefined
/// candidate joins the others.
void refine_candidate(const Graph& source, llvm::ArrayRef<Rule> rules,
                      const PricingContext& pricing, const OptimizeOptions& options,
                      Candidate& candidate, OptimizeReport& report);

} // namespace tg
