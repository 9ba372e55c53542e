// A graph as an agent sees it that is to serve networks which it never met: operators by kind,
// sizes by their logarithms, weights among the operands, attributes. Nothing depends on how many
// operators there are or how they are numbered.
#pragma once

#include "compiler/ir/graph.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tg {

/// Of a node beside its operator. Sizes, and numbers of attributes, are log2(1 + n) / 8:
///   0..3    dimensions of the result, to the right of four
///   4..11   those of the first two operands
///   12..15  whether the node, and its first three operands, are computed from weights alone
///   16..25  numbers of the attributes, two of each of the first five; of a word its place in the
///           alphabet of hashes, in (0, 1)
inline constexpr size_t kNodeTraits = 26;

/// What agents see no node of: inputs, weights, literals.
bool is_leaf(OpKind op);

struct GraphFeatures {
  std::vector<OpKind> operators;                      // of nodes that are no leaves, in their order
  std::vector<std::array<float, kNodeTraits>> traits; // of the same
  std::vector<std::pair<uint32_t, uint32_t>> edges;   // from, to: who takes whose result
};

GraphFeatures features_of(const Graph& graph);

} // namespace tg
