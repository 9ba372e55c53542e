// A search whose prices are guesses in part: what it finds says which of them matter. These are
// found out (CostModel::settle), and where they turn out to be others the search begins again,
// until what it finds hangs on no guess any more or the time for it is over. With prices that are
// known it is one search.
#pragma once

#include "compiler/optimizer/candidate.h"
#include "compiler/optimizer/optimize.h"

namespace tg {

/// As the strategy of the options finds it, with the prices that it leaves in `pricing.prices`;
/// what earlier searches found is among `pricing.others`, where these are asked for, and the best
/// if it turns out to be. `report.cost_before_us` is by the prices of the end, too. Errors:
/// `no_solution`.
Result<Candidate> find_settled(const Graph& source, llvm::ArrayRef<Rule> rules,
                               const PricingContext& pricing, const OptimizeOptions& options,
                               OptimizeReport& report);

// What the nodes of a graph take within its whole runs, as times of operator instances: nodes of
// one instance share one time, their mean, so that the sum over the graph is that of its nodes.

/// Times of a graph's instances, each once, in the order in which it has them first. Nodes of which
/// nothing is known are left out.
struct PlacedInstances {
  GraphInstances of; // that `times` refer to
  std::vector<PlacedTime> times;
  double sum_us = 0; // over all nodes
};
PlacedInstances placed_instances(const Graph& graph, const PlacedNodes& nodes);

} // namespace tg
