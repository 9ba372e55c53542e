// A search with prices that are guessed in part. The result of a search shows which guesses matter.
// These are measured (CostModel::refine_prices), and if they change, the search restarts, until its
// result depends on no guess or the time is over. If all prices are known there is a single search.
#pragma once

#include "compiler/optimizer/candidate.h"
#include "compiler/optimizer/optimize.h"

namespace tg {

/// Runs the strategy of the options. `pricing.prices` receives the final prices. Results of earlier
/// searches are added to `pricing.others` if requested, and returned if they turn out to be best.
/// `report.cost_before_us` is by the final prices as well. Errors: `no_solution`.
Result<Candidate> find_with_refined_prices(const Graph& source, llvm::ArrayRef<Rule> rules,
                                           const PricingContext& pricing,
                                           const OptimizeOptions& options, OptimizeReport& report);

// Times of a graph's nodes within its whole runs, by operator instance. Nodes of one instance share
// their mean time, so the sum over the graph equals that of its nodes.

/// Times of a graph's distinct instances, in order of first appearance. Nodes without a known time
/// are omitted.
struct PlacedInstances {
  GraphInstances of; // `times` refers to it
  std::vector<PlacedTime> times;
  double sum_us = 0; // over all nodes
};
PlacedInstances placed_instances(const Graph& graph, const PlacedNodes& nodes);

} // namespace tg
