// What the time of an operator depends on, as numbers between which distances mean something: sizes
// as logarithms (one unit is a factor of two), choices as fixed steps. Prices of operators that are
// near each other are alike, which is all that the price model (price_model.h) knows.
#pragma once

#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost.h"

#include <optional>

namespace tg {

/// Operators whose kernels are made alike; only these are compared with each other.
enum class PriceFamily : uint8_t {
  Product,     // matmul
  Convolution, // dense, or of groups
  Depthwise,   // one channel a group
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

// Reads what instance_key() writes: operators with their types, from the keys of cost tables and
// databases. Keys may come from another version, or from anywhere: what is not an instance of an
// operator of ours is none.

/// The types are those of `symbols`.
/// nullopt where the text is no instance, or its types do not fit.
std::optional<OwnedInstance> read_instance(Symbols& symbols, llvm::StringRef key);

} // namespace tg
