// Chains of rewrites found in stretches (stretches.h), told of the whole network: each step of a
// stretch's chain becomes one of the whole, at each place that the finding was put into.
#pragma once

#include "compiler/egraph/derivation.h"
#include "compiler/search/stretches.h"

namespace tg {

/// What was found for one stretch; null: it stays as it is.
struct StretchChain {
  const CutOut* place = nullptr;
  const Derivation* chain = nullptr; // over the cut-out, perhaps with symbols of its own
};

/// Goes on with `whole`, which ends at `graph`, up to the graph that put_in() makes of the same
/// findings. Stretches in their order.
void append_stretches(Derivation& whole, const Graph& graph, llvm::ArrayRef<StretchChain> found);

} // namespace tg
