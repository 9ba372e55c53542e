// A graph as a network sees it, and a batch of states as its input tensors. As published: a node is
// an operator that is neither an input nor a weight; an edge goes from a producer to a consumer.
// Weights give no edges, so that their shapes show in results alone.
#pragma once

#include "compiler/ir/graph.h"

#include <array>
#include <memory>

namespace tg {

/// The dimensions of a tensor, to the right of four, in units of 4096.
using ShapeFeature = std::array<float, 4>;

struct EncodedNode {
  OpKind op{};
  ShapeFeature gives = {}, takes = {}; // sums over outgoing and incoming edges
};

struct EncodedGraph {
  std::vector<EncodedNode> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> edges; // from, to; none from a node to itself
};

/// What a decision is about: all graphs that it can lead to, the graph as it stands at last.
struct EncodedState {
  std::vector<std::shared_ptr<const EncodedGraph>> candidates;
  /// The most nodes of a candidate.
  size_t nodes() const;
};

/// Of a node: its operator, one of so many, and both sums of shapes.
inline constexpr size_t kNodeFeatures = kOpCount + 8;

EncodedGraph encode(const Graph& graph);

/// The input tensors of a batch, row-major, padded to so many candidates of so many nodes; what is
/// padding is 0, but that each node has an edge to itself.
struct StateBatch {
  size_t states = 0, candidates = 0, nodes = 0; // the padded sizes
  std::vector<float> features;                  // [states, candidates, nodes, kNodeFeatures]
  std::vector<float> edges;                     // [states, candidates, nodes to, nodes from]
  std::vector<float> present;                   // [states, candidates, nodes]
  std::vector<float> mask;                      // [states, candidates]

  /// No fewer of each than the states have.
  StateBatch(llvm::ArrayRef<const EncodedState*> batch, size_t states, size_t candidates,
             size_t nodes);
};

/// The padded size of what has so many: the next power of two or three quarters of it, at least 3,
/// so that few shapes are met.
size_t bucket_of(size_t count);

} // namespace tg
