// Finds composite operators in a graph: attention, norms, activations and rotations, as operators
// or as functions of the library, and pieces that look like one but are not.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/rule_counts.h"

namespace tg {

/// A piece of a graph that looks like a composite operator.
struct NearComposite {
  std::string composite; // "attention"
  std::string reason;    // "the mask is added after the softmax"
  size_t count = 0;
};

struct Composites {
  std::vector<RuleCount> found; // by name of the composite, in alphabetical order
  std::vector<NearComposite> near;
};

/// Returns the composite operators of a graph, also within fused operators and activations of
/// products.
Composites composites_of(const Graph& graph);

} // namespace tg
