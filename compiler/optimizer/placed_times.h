// What the nodes of a graph take within its whole runs, as times of operator instances: nodes of
// one instance share one time, their mean, so that the sum over the graph is that of its nodes.
#pragma once

#include "compiler/optimizer/optimize.h"

namespace tg {

/// Times of a graph's instances, each once, in the order in which it has them first. Nodes of which
/// nothing is known are left out.
struct PlacedInstances {
  GraphInstances of; // that `times` refer to
  std::vector<PlacedTime> times;
  double sum_us = 0; // over all nodes
};
PlacedInstances placed_instances(const Graph& graph, const PlacedNodes& nodes);

} // namespace tg
