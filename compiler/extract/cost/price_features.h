// The features on which the time of an operator depends, as numbers with meaningful distances:
// sizes as logarithms (one unit is a factor of two), choices as fixed steps. The price model
// (price_model.h) assumes that operators with nearby features have similar prices.
#pragma once

#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost.h"

#include <optional>

namespace tg {

/// Operators with similar kernels; only operators of one family are compared.
enum class PriceFamily : uint8_t {
  Product,     // matmul
  Convolution, // dense or grouped
  Depthwise,   // one channel per group
  Filtering,   // winograd_conv2d
  Attention,
  Window, // pooling
  Rows,   // softmax, norms, reductions
  Map,    // element by element, fused or not
  Copy,   // moves
};
inline constexpr size_t kPriceFamilies = 9;

struct PriceFeatures {
  PriceFamily family{};
  OpKind op{};
  /// Time by the analytic model, which the learned part corrects.
  double roofline_us = 0;
  /// True if the time is from whole runs of a network and includes the operators inserted before
  /// this one; otherwise the operator was timed alone (runtime/measure/measure.h).
  bool in_place = false;
  /// The same number of values for all operators of a family.
  llvm::SmallVector<double, 20> x;
};

/// Returns the features. `washed_mib`: MiB of memory touched between two runs of the operator
/// (runtime/measure/measure.h).
PriceFeatures price_features(AnalyticCost& roofline, const Symbols& symbols,
                             const OpInstance& instance, double washed_mib);

// Parses the keys of cost tables and databases, as written by instance_key(), to operators with
// their types. Keys may come from another version or from any other source, so every text that is
// not an instance of a known operator is rejected.

/// Parses a key; the types belong to `symbols`. nullopt if the text is not an instance or its
/// types do not fit.
std::optional<OwnedInstance> read_instance(Symbols& symbols, llvm::StringRef key);

} // namespace tg
