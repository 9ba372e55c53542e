// What the time of an operator depends on, as numbers between which distances mean something: sizes
// as logarithms (one unit is a factor of two), choices as fixed steps. Prices of operators that are
// near each other are alike, which is all that the price model (price_model.h) knows.
#pragma once

#include "compiler/extract/cost/analytic.h"

namespace tg {

/// Operators whose kernels are made alike; only these are compared with each other.
enum class PriceFamily : uint8_t {
  Product,     // matmul
  Convolution, // dense, or of groups
  Depthwise,   // one channel a group
  Filtering,   // winograd_conv2d
  Window,      // pooling
  Rows,        // softmax, norms, reductions
  Map,         // element by element, fused or not
  Copy,        // moves
};
inline constexpr size_t kPriceFamilies = 8;

struct PriceFeatures {
  PriceFamily family{};
  OpKind op{};
  /// By the analytic model: what the learned part corrects.
  double roofline_us = 0;
  /// The time is that within whole runs of a network, with what is put in before the operator;
  /// else alone (runtime/measure/measure.h).
  bool in_place = false;
  /// As many for each operator of a family.
  llvm::SmallVector<double, 20> x;
};

/// `washed_mib`: what was touched between two runs of the operator (runtime/measure/measure.h).
PriceFeatures price_features(AnalyticCost& roofline, const Symbols& symbols,
                             const OpInstance& instance, double washed_mib);

} // namespace tg
