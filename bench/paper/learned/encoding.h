// Encodes a graph for a network, and a batch of states as its input tensors. As published, a node
// is an operator other than an input or a weight, and an edge goes from a producer to a consumer.
// Weights give no edges, so their shapes appear only through the results. Rewrites of one graph
// differ in few nodes, so a state stores each distinct node once.
#pragma once

#include "compiler/search/game/environment.h"

#include <array>

namespace tg::paper {

/// The dimensions of a tensor, right-aligned in four places, in units of 4096.
using ShapeFeature = std::array<float, 4>;

struct EncodedNode {
  OpKind op{};
  ShapeFeature gives = {}, takes = {}; // sums over outgoing and incoming edges
};

struct EncodedGraph {
  std::vector<EncodedNode> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> edges; // (from, to); no self-edges
};

/// Maximum number of attention layers. Nodes that look alike up to this depth share one vector.
inline constexpr int kMostLayers = 5;

/// The input of one decision: the graphs that its actions lead to, and the current graph as the
/// last one. These graphs share most nodes, so each distinct node is stored once. Nodes are alike
/// if they have the same kind and the same pair of sums, and take from nodes that are alike,
/// recursively up to kMostLayers. Such nodes have equal vectors in each layer, whichever graph they
/// belong to.
struct EncodedState {
  struct Node : EncodedNode {
    uint64_t key = 0; // equal for nodes that are alike, also across states
  };
  struct Edge {
    uint32_t from = 0, to = 0;
    float times = 0; // number of distinct edges between nodes that are alike
  };
  /// How many more of a node a candidate has than the current graph; for the current graph itself,
  /// the full number.
  struct Part {
    uint32_t candidate = 0, node = 0;
    float times = 0;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Part> parts;
  size_t candidates = 0;

  EncodedState() = default;
  /// `apart` disables sharing, for tests.
  explicit EncodedState(llvm::ArrayRef<EncodedGraph> graphs, bool apart = false);
};

/// Features of a node: its operator, one-hot, and both sums of shapes.
inline constexpr size_t kNodeFeatures = kOpCount + 8;

EncodedGraph encode(const Graph& graph);

/// Encodes the states of an environment.
class StateEncoding final : public StateEncoder {
public:
  void add(const Graph& graph) override { graphs_.push_back(encode(graph)); }
  void finish() override {
    state_ = EncodedState(graphs_);
    graphs_ = {};
  }
  const EncodedState& state() const { return state_; }

private:
  std::vector<EncodedGraph> graphs_;
  EncodedState state_;
};

inline std::unique_ptr<StateEncoder> make_state_encoding() {
  return std::make_unique<StateEncoding>();
}
/// Requires an environment with make_state_encoding().
inline const EncodedState& encoded(const RewriteState& state) {
  return static_cast<const StateEncoding&>(*state.encoder).state();
}

/// The input tensors of a batch: row-major and padded. States of a batch share their nodes as well.
/// A padding edge or part leads from the first node to an out-of-range index.
struct StateBatch {
  struct Sizes {
    size_t states = 0, candidates = 0, nodes = 0, edges = 0, parts = 0;
    auto operator<=>(const Sizes&) const = default;
  };
  Sizes sizes;                              // padded sizes
  std::vector<float> features;              // [nodes, kNodeFeatures]
  std::vector<int32_t> from, to;            // [edges]: node indices
  std::vector<float> edge_times;            // [edges]
  std::vector<int32_t> part_graph, part_of; // [parts]: state * candidates + candidate, and the node
  std::vector<float> part_times;            // [parts]
  std::vector<float> mask;                  // [states, candidates]

  /// Pads to buckets of at least `least`. Candidates are padded to at most `most_candidates` if
  /// that suffices.
  StateBatch(llvm::ArrayRef<const EncodedState*> batch, const Sizes& least,
             size_t most_candidates = SIZE_MAX);

private:
  /// Merges equal nodes and collects the edges and parts of all states. Returns the required sizes.
  Sizes merge(llvm::ArrayRef<const EncodedState*> batch);
  void add_features(const EncodedNode& node);
  void pad();
};

/// Returns the padded size for a count: the next power of two or three quarters of it, at least 3,
/// so that few distinct shapes occur.
size_t bucket_of(size_t count);
/// Like bucket_of, but in powers of two from 16, for large counts.
size_t wide_bucket_of(size_t count);

} // namespace tg::paper
