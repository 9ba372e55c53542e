// Extraction by prices of groups. What a device fuses when it loads a graph is no sum over nodes,
// so no extractor can minimise it; but it can be asked for whole graphs. So the choice that
// operators' prices gave is the start of a local search (group_moves.h) whose objective is the
// price of the graph by groups, ties going to operators' prices. Moves are tried in the order of
// what they would add by operators, in batches, so that a pricer that measures can take new groups
// together.
//
// Bounded by a number of graphs to price and by time; stopped by the number alone, equal inputs
// have equal results.
#pragma once

#include "compiler/extract/cost/group_price.h"
#include "compiler/extract/extract.h"

#include "lang/core/support/stop.h"

namespace tg {

struct RefineOptions {
  size_t most_priced = 200; // graphs
  size_t batch = 8;
  double time_limit_s = 10;
  /// No graph that costs more than this by operators is taken.
  double most_cost_us = kInfiniteCost;
  double max_weight_growth = 4; // as in ExtractOptions
  StopToken stop;
};

struct RefinedGraph {
  ExtractedGraph result; // `start` itself if nothing was better
  GroupPrice before, after;
  size_t priced = 0, moves = 0; // graphs asked for; moves made
  bool ended = false;           // by the clock, or the user
};

/// The best graph found in the e-graph, from `start` on: never dearer by groups. Inputs and names
/// as in `source`. nullopt where the e-graph does not hold `start`, or the device does not take it.
/// Requires clean().
std::optional<RefinedGraph> refine_by_groups(const EGraph& egraph, const Graph& source,
                                             const Graph& start, PriceCache& prices,
                                             GroupPricer& groups, const RefineOptions& options);

} // namespace tg
