// Prices of patterns: several nodes that a backend executes as one kernel (a convolution with its
// bias, residual and activation) cost less together than alone. A pattern becomes one more node of
// its last class: it has the pattern's price and needs what the pattern needs from outside. Every
// extractor then weighs it like any other node.
//
// What lies inside a pattern is not there for others. If another chosen node needs an inner class,
// that class is chosen by itself as well, and paid for: as it is when the kernel runs.
#pragma once

#include "compiler/extract/problem.h"

namespace tg {

/// Nodes of one problem, the last first;
/// each of the others is in a class that an earlier one needs.
struct FusedPattern {
  std::vector<NodeIx> nodes;
  double cost = 0;
};

struct FusedProblem {
  ExtractionProblem problem; // sealed; nodes of the original first, then one for each pattern
  std::vector<FusedPattern> patterns;
  size_t original_nodes = 0;

  /// The pattern behind a node; null for nodes of the original.
  const FusedPattern* pattern(NodeIx node) const {
    return node.index < original_nodes ? nullptr : &patterns[node.index - original_nodes];
  }
  /// Nodes of the original that a choice executes: chosen ones, and those inside of patterns.
  std::vector<NodeIx> executed(const Choice& choice) const;
};

/// What keeps a pattern from being one; empty if it is sound.
std::string fault_of(const ExtractionProblem& problem, const FusedPattern& pattern);

/// All patterns must be sound. Load nodes cannot be part of one.
FusedProblem with_patterns(const ExtractionProblem& problem, std::vector<FusedPattern> patterns);

} // namespace tg
