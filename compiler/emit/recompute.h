// Recomputation: a result with a distant next reader can be computed again there instead of being
// kept (rematerialisation: Griewank and Walther 2000; Chen et al. 2016). This helps training
// steps: results of the forward pass are kept until the backward pass reads them, and many are
// cheap to recompute.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Limits of recomputation. By default nothing is recomputed.
struct RecomputeOptions {
  llvm::ArrayRef<double> price_us = {}; // by node index
  /// Limit on the added price of recomputed operators, as a share of the sum of the prices of a
  /// run.
  double most_share = 0;
};

/// The gain and the price of recomputation.
struct Recomputed {
  size_t operators = 0;                        // that run again
  int64_t peak_bytes = 0, peak_kept_bytes = 0; // of run-time results; kept: without recomputation
  double added_us = 0, total_us = 0; // prices: of recomputed operators, of a run without any
};

/// The order in which a plan runs. A repeated operator is computed again, and readers of its result
/// read the latest one.
struct RunOrder {
  std::vector<NodeId> order;
  Recomputed recomputed;
};

/// Lowers the peak of live bytes as far as the price limit allows. Views (reshapes,
/// transpositions, slices) share the bytes of their operands; a backend that copies a view needs
/// more. Among the results that are kept
/// across the peak for a later reader, the one with the most bytes per time is recomputed right
/// before that reader, with those of its operands that are gone by then. This is repeated until no
/// result at the peak qualifies, or the price limit is reached. Products and convolutions are
/// always kept. Recomputed operators that do not lower the final peak are removed.
///
/// Results are the same to the bit, since an operator is repeated on the same operands.
RunOrder recompute(const Graph& graph, std::vector<NodeId> order, const RecomputeOptions& options);

} // namespace tg
