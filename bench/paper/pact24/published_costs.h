// The cost functions of the rewards of the PACT 2024 MCTS optimizer, as its program computes them,
// mistakes included, so that its results can be reproduced. Neither is the price of a graph: the
// tree cost counts shared work once per use; the sharing-aware cost subtracts one overlap per pair
// of operands and depends on the order of operands. We differ from the program in two ways: classes
// are visited in topological order (there in hash-map order until nothing changes), and only nodes
// that the cycle filter kept are considered.
#pragma once

#include "compiler/search/node_prices.h"
#include "lang/core/support/stop.h"

namespace tg::paper {

struct PublishedCost {
  double cost_us = 0; // infinite, without nodes, if a root cannot be extracted or it was stopped
  /// The nodes chosen, children first.
  std::vector<ENodeId> nodes;
};

/// egg's greedy cost function: a node's cost is its own plus that of all its operands.
PublishedCost default_greedy(const EGraph& egraph, NodePrices& prices, const StopToken& stop = {});

/// "Our greedy" of the paper (section 4; TensorCost in its program): every class keeps a history of
/// classes that its cheapest node has paid for.
PublishedCost shared_greedy(const EGraph& egraph, NodePrices& prices, const StopToken& stop = {});

} // namespace tg::paper
