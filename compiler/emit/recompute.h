// Recomputation: a result that waits long for its next reader can be made a second time there
// instead of being kept (rematerialisation: Griewank and Walther 2000; Chen et al. 2016). Training
// steps gain by it: what the forward pass made lies there until the backward pass reads it, and
// much of that costs little to make again.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// What recomputation may cost. By default nothing is recomputed.
struct RecomputeOptions {
  llvm::ArrayRef<double> price_us = {}; // of each node of the graph, by index
  /// Of the sum of the prices of all that runs, what recomputed operators may add.
  double most_share = 0;
};

/// What recomputation gains and costs.
struct Recomputed {
  size_t operators = 0;                        // that run again
  int64_t peak_bytes = 0, peak_kept_bytes = 0; // of run-time results; kept: nothing recomputed
  double added_us = 0, total_us = 0;           // prices of those, and of all that is computed once
};

/// In which order a plan runs. An operator that is in it again is computed again, and who reads its
/// result reads the latest.
struct Schedule {
  std::vector<NodeId> order;
  Recomputed recomputed;
};

/// Lowers the peak of live bytes as far as the price allows. At the peak, of the results that lie
/// there for a later reader the one that gives most bytes for its time is made again right before
/// that reader, with those of its operands that are gone by then; again and again, until nothing
/// there can be, or the share is used up. Products and convolutions are always kept. Recomputed
/// operators that do not lower the peak in the end are not in the result.
///
/// Results are the same to the bit: an operator of the same operands.
Schedule recompute(const Graph& graph, std::vector<NodeId> order, const RecomputeOptions& options);

/// Highest sum of live bytes of run-time results, as peak_of_order() has it, but that views
/// (reshapes, transpositions, slices) lie on what they are of; where a backend copies one after
/// all, it needs more.
int64_t peak_of_schedule(const Graph& graph, llvm::ArrayRef<NodeId> order);

} // namespace tg
