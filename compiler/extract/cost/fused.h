// Prices of patterns: several nodes that a backend executes as one kernel (a convolution with its
// bias, residual and activation) cost less together than alone. A pattern becomes an additional
// node of its last class. The node has the pattern's price and needs the classes that the pattern
// needs from outside. Extractors treat it like any other node.
//
// The values inside a pattern are not available to other nodes. If another chosen node needs an
// inner class, that class is also chosen and paid for by itself, just as it is computed separately
// at run time.
#pragma once

#include "compiler/extract/problem.h"

namespace tg {

/// Nodes of one problem, the last first. Each later entry is in a class that an earlier one needs.
struct FusedPattern {
  std::vector<NodeIx> nodes;
  double cost = 0;
};

struct FusedProblem {
  ExtractionProblem problem; // sealed; the original nodes first, then one node for each pattern
  std::vector<FusedPattern> patterns;
  size_t original_nodes = 0;

  /// Returns the pattern of a node, or null for an original node.
  const FusedPattern* pattern(NodeIx node) const {
    return node.index < original_nodes ? nullptr : &patterns[node.index - original_nodes];
  }
};

/// Returns the reason why a pattern is invalid; empty if it is sound.
std::string fault_of(const ExtractionProblem& problem, const FusedPattern& pattern);

/// Adds a node for each pattern. All patterns must be sound. Load nodes cannot be part of a
/// pattern.
FusedProblem with_patterns(const ExtractionProblem& problem, std::vector<FusedPattern> patterns);

} // namespace tg
