// Refines the result of a search, which used operators' prices, by group prices
// (extract/groups/group_refine.h): within the e-graph from which it was extracted if there is one,
// else within consecutive e-graphs grown from it by the rules in use, while that gains. The result
// never costs more than the input by groups, and never more than the source by operators' prices.
#pragma once

#include "compiler/optimizer/candidate.h"

namespace tg {

/// Records the group prices of the source in the report. Returns false if the device does not
/// accept the source; then group prices are meaningless.
bool note_groups(const Graph& source, GroupPricer& groups, ExtractionSection& report);

/// Refines within the e-graph. The best graph replaces `extracted`, which must not use kernels.
void refine_extracted(const EGraph& egraph, const Graph& source, const PricingContext& pricing,
                      const OptimizeOptions& options, ExtractedGraph& extracted,
                      FindingReport& report);

/// Refines the cheapest of the candidate and the others by groups, which are exchanged if
/// necessary, and also the source, because operators' prices may have led away from cheap graphs.
/// The better result becomes the candidate; an unrefined candidate joins the others.
void refine_candidate(const Graph& source, llvm::ArrayRef<Rule> rules,
                      const PricingContext& pricing, const OptimizeOptions& options,
                      Candidate& candidate, FindingReport& report);

} // namespace tg
