// The graph that a choice of an e-graph's nodes makes.
#pragma once

#include "compiler/egraph/egraph.h"

namespace tg {

/// Builds the graph of the chosen nodes, which are given children first; inputs and names as in
/// `source`.
Graph graph_of(const EGraph& egraph, const Graph& source, llvm::ArrayRef<ENodeId> nodes);

} // namespace tg
