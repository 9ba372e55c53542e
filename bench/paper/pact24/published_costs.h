// The cost functions that the MCTS optimizer of PACT 2024 gives rewards by, as its program computes
// them, so that its results can be reproduced, mistakes included. Neither is the price of a graph:
// tree cost counts shared work once for every use; the sharing-aware cost takes off one overlap for
// each pair of operands, and depends on the order of operands. Differences from the program:
// classes are visited in topological order (there in the order of a hash map, until nothing
// changes), and only nodes that the cycle filter left are seen.
#pragma once

#include "compiler/search/node_prices.h"
#include "lang/core/support/stop.h"

namespace tg::paper {

struct PublishedCost {
  double cost_us = 0; // infinite if a root cannot be extracted, or it was stopped: no nodes then
  /// The nodes chosen, children first.
  std::vector<ENodeId> nodes;
};

/// egg's greedy cost function: a node costs itself and all its operands.
PublishedCost default_greedy(const EGraph& egraph, NodePrices& prices, const StopToken& stop = {});

/// "Our greedy" of the paper (section 4; TensorCost in its program): every class keeps a history of
/// classes that its cheapest node has paid for.
PublishedCost shared_greedy(const EGraph& egraph, NodePrices& prices, const StopToken& stop = {});

} // namespace tg::paper
