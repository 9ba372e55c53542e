// Features of a graph for agents that generalise to unseen networks: operators by kind, sizes by
// their logarithms, constant operands and attributes. No feature depends on the number of operators
// or on their numbering.
#pragma once

#include "compiler/ir/graph.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tg {

/// Features of a node besides its operator. Sizes, and numbers in attributes, are log2(1 + n) / 8:
///   0..3    dimensions of the result, right-aligned in four places
///   4..11   dimensions of the first two operands
///   12..15  whether the node, and its first three operands, are computed from weights alone
///   16..25  numbers of the attributes, two for each of the first five; a word is encoded as its
///           hash, scaled to (0, 1)
inline constexpr size_t kNodeTraits = 26;

/// Returns true for inputs, weights and literals, which agents do not see as nodes.
bool is_leaf(OpKind op);

struct GraphFeatures {
  std::vector<OpKind> operators;                      // of the nodes that are not leaves, in order
  std::vector<std::array<float, kNodeTraits>> traits; // by the same nodes
  std::vector<std::pair<uint32_t, uint32_t>> edges;   // (producer, consumer)
};

GraphFeatures features_of(const Graph& graph);

} // namespace tg
