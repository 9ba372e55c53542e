// Builds the graph that a choice of e-nodes represents.
#pragma once

#include "compiler/egraph/egraph.h"

namespace tg {

/// Builds the graph of the chosen nodes, which must be listed children first. Inputs and names are
/// taken from `source`.
Graph graph_of(const EGraph& egraph, const Graph& source, llvm::ArrayRef<ENodeId> nodes);

} // namespace tg
