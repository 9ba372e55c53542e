// A graph as a network sees it, and a batch of states as its input tensors. As published: a node is
// an operator that is neither an input nor a weight; an edge goes from a producer to a consumer.
// Weights give no edges, so that their shapes show in results alone. The graphs that rewrites of
// one graph make differ from it in few nodes, so a state holds each distinct node once.
#pragma once

#include "compiler/ir/graph.h"

#include <array>

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

/// Attention goes at most so many layers deep: nodes that look alike so far back have one vector.
inline constexpr int kMostLayers = 5;

/// What a decision is about: all graphs that it can lead to, the graph as it stands at last. They
/// have most of their nodes in common, so each distinct one is held once: nodes of one kind and one
/// pair of sums, which take from nodes that are alike in turn, kMostLayers times. Such nodes have
/// equal vectors in each layer, whichever graph they are of.
struct EncodedState {
  struct Node : EncodedNode {
    uint64_t key = 0; // equal for what is alike, in other states, too
  };
  struct Edge {
    uint32_t from = 0, to = 0;
    float times = 0; // distinct nodes that are alike
  };
  /// So many more of a node than the graph as it stands has; of that itself, so many.
  struct Part {
    uint32_t candidate = 0, node = 0;
    float times = 0;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Part> parts;
  size_t candidates = 0;

  EncodedState() = default;
  /// `apart`: nothing is shared, for tests.
  explicit EncodedState(llvm::ArrayRef<EncodedGraph> graphs, bool apart = false);
};

/// Of a node: its operator, one of so many, and both sums of shapes.
inline constexpr size_t kNodeFeatures = kOpCount + 8;

EncodedGraph encode(const Graph& graph);

/// The input tensors of a batch, whose states share their nodes, too; row-major, padded. An edge or
/// a part that is padding leads from the first node to an index that there is not.
struct StateBatch {
  struct Sizes {
    size_t states = 0, candidates = 0, nodes = 0, edges = 0, parts = 0;
    auto operator<=>(const Sizes&) const = default;
  };
  Sizes sizes;                              // the padded ones
  std::vector<float> features;              // [nodes, kNodeFeatures]
  std::vector<int32_t> from, to;            // [edges]: nodes
  std::vector<float> edge_times;            // [edges]
  std::vector<int32_t> part_graph, part_of; // [parts]: state * candidates + candidate, a node
  std::vector<float> part_times;            // [parts]
  std::vector<float> mask;                  // [states, candidates]

  /// Padded to buckets of no less than `least`; candidates to no more than `most`, where that is
  /// enough.
  StateBatch(llvm::ArrayRef<const EncodedState*> batch, const Sizes& least,
             size_t most_candidates = SIZE_MAX);

private:
  /// The states' nodes, edges and parts, of each node one; gives what `sizes` has to hold.
  Sizes merge(llvm::ArrayRef<const EncodedState*> batch);
  void add_features(const EncodedNode& node);
  void pad();
};

/// The padded size of what has so many: the next power of two or three quarters of it, at least 3,
/// so that few shapes are met.
size_t bucket_of(size_t count);
/// The same in powers of two from 16, of what there is much of.
size_t wide_bucket_of(size_t count);

} // namespace tg
