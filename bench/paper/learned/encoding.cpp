#include "bench/paper/learned/encoding.h"

#include "compiler/search/game/features.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/bit.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace tg::paper {

namespace {

constexpr float kShapeUnit = 4096;

ShapeFeature shape_feature(const TensorType& type) {
  ShapeFeature out = {};
  llvm::ArrayRef<int64_t> shape = type.shape;
  if (shape.size() > out.size()) shape = shape.take_back(out.size());
  for (size_t i = 0; i < shape.size(); ++i)
    out[out.size() - shape.size() + i] = static_cast<float>(shape[i]) / kShapeUnit;
  return out;
}

void add_to(ShapeFeature& sum, const ShapeFeature& term) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
}

} // namespace

EncodedGraph encode(const Graph& graph) {
  EncodedGraph out;
  std::vector<bool> reachable = graph.reachable();
  std::vector<uint32_t> place(graph.size(), UINT32_MAX);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!reachable[i] || is_leaf(graph.node({i}).op)) continue;
    auto to = static_cast<uint32_t>(out.nodes.size());
    place[i] = to;
    out.nodes.push_back({graph.node({i}).op, {}, {}});
    for (NodeId operand : graph.operands({i})) {
      uint32_t from = place[operand.index];
      if (from == UINT32_MAX) continue;
      out.edges.emplace_back(static_cast<uint32_t>(from), static_cast<uint32_t>(to));
      ShapeFeature shape = shape_feature(graph.type(operand));
      add_to(out.nodes[from].gives, shape);
      add_to(out.nodes[to].takes, shape);
    }
  }
  return out;
}

namespace {

uint64_t mixed(uint64_t x) { // SplitMix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
uint64_t joined(uint64_t key, uint64_t next) { return mixed(key * 0x9e3779b97f4a7c15 + next + 1); }

uint64_t key_of(const EncodedNode& node) {
  uint64_t key = static_cast<uint64_t>(node.op);
  for (const ShapeFeature* sums : {&node.gives, &node.takes})
    for (float sum : *sums) key = joined(key, llvm::bit_cast<uint32_t>(sum));
  return key;
}

/// Returns, for each node, a key of everything that its vectors depend on. The keys are sums of
/// mixed keys, so the order of senders does not matter.
std::vector<uint64_t> keys_of(const EncodedGraph& graph) {
  std::vector<uint64_t> keys;
  for (const EncodedNode& node : graph.nodes) keys.push_back(key_of(node));
  for (int layer = 0; layer < kMostLayers; ++layer) {
    std::vector<uint64_t> taken(keys.size());
    for (auto [from, to] : graph.edges) taken[to] += mixed(keys[from] + 1);
    for (size_t n = 0; n < keys.size(); ++n) keys[n] = joined(keys[n], taken[n]);
  }
  return keys;
}

using Counts = llvm::MapVector<uint32_t, float>; // by node

/// Deduplicates the nodes of several graphs.
class Sharing {
public:
  Sharing(EncodedState& state, bool apart) : state_(state), apart_(apart) {}

  /// Adds a graph and returns how often each distinct node occurs in it.
  Counts add(const EncodedGraph& graph) {
    std::vector<uint64_t> keys = keys_of(graph);
    if (apart_)
      for (uint64_t& key : keys) key = joined(key, ++salt_);
    std::vector<uint32_t> places;
    size_t known = state_.nodes.size();
    Counts counts;
    for (size_t n = 0; n < keys.size(); ++n) {
      auto [found, fresh] = places_.try_emplace(keys[n], state_.nodes.size());
      if (fresh) state_.nodes.push_back({graph.nodes[n], keys[n]}), source_.push_back(n);
      places.push_back(found->second);
      ++counts[found->second];
    }
    add_edges(graph, places, known);
    return counts;
  }

private:
  /// Adds the edges into nodes that are new with this graph. Parallel edges between two nodes count
  /// once, as in attention.
  void add_edges(const EncodedGraph& graph, llvm::ArrayRef<uint32_t> places, size_t known) {
    llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
    llvm::MapVector<std::pair<uint32_t, uint32_t>, float> times;
    for (auto [from, to] : graph.edges) {
      bool own = places[to] >= known && source_[places[to]] == to;
      if (own && seen.insert({from, to}).second) ++times[{places[from], places[to]}];
    }
    for (auto [edge, count] : times) state_.edges.push_back({edge.first, edge.second, count});
  }

  EncodedState& state_;
  bool apart_;
  uint64_t salt_ = 0;
  llvm::DenseMap<uint64_t, uint32_t> places_; // by key
  std::vector<size_t> source_;                // by node: its index in the graph that introduced it
};

} // namespace

EncodedState::EncodedState(llvm::ArrayRef<EncodedGraph> graphs, bool apart)
    : candidates(graphs.size()) {
  if (graphs.empty()) return;
  Sharing sharing(*this, apart);
  Counts now = sharing.add(graphs.back());
  for (uint32_t c = 0; c + 1 < graphs.size(); ++c) {
    Counts counts = sharing.add(graphs[c]);
    for (auto [node, times] : now) counts[node] -= times;
    for (auto [node, times] : counts)
      if (times != 0) parts.push_back({c, node, times});
  }
  for (auto [node, times] : now)
    parts.push_back({static_cast<uint32_t>(candidates - 1), node, times});
}

size_t bucket_of(size_t count) {
  size_t power = std::max<size_t>(4, llvm::PowerOf2Ceil(count));
  return count <= power / 4 * 3 ? power / 4 * 3 : power;
}

size_t wide_bucket_of(size_t count) {
  size_t bucket = 16;
  while (bucket < count) bucket *= 2;
  return bucket;
}

StateBatch::StateBatch(llvm::ArrayRef<const EncodedState*> batch, const Sizes& least,
                       size_t most_candidates) {
  size_t most = std::max<size_t>(least.candidates, 1);
  for (const EncodedState* state : batch) most = std::max(most, state->candidates);
  sizes.states = std::max(least.states, batch.size());
  sizes.candidates = std::min(bucket_of(most), std::max(most, most_candidates));
  Sizes needed = merge(batch);
  sizes.nodes = wide_bucket_of(std::max(least.nodes, needed.nodes));
  sizes.edges = wide_bucket_of(std::max(least.edges, needed.edges));
  sizes.parts = wide_bucket_of(std::max(least.parts, needed.parts));
  pad();
}

StateBatch::Sizes StateBatch::merge(llvm::ArrayRef<const EncodedState*> batch) {
  llvm::DenseMap<uint64_t, int32_t> places; // by key
  mask.resize(sizes.states * sizes.candidates);
  for (size_t s = 0; s < batch.size(); ++s) {
    const EncodedState& state = *batch[s];
    auto known = static_cast<int32_t>(places.size());
    std::vector<int32_t> place;
    for (const EncodedState::Node& node : state.nodes) {
      auto [found, fresh] = places.try_emplace(node.key, static_cast<int32_t>(places.size()));
      if (fresh) add_features(node);
      place.push_back(found->second);
    }
    for (const EncodedState::Edge& edge : state.edges) {
      if (place[edge.to] < known) continue; // its edges are already added
      from.push_back(place[edge.from]), to.push_back(place[edge.to]);
      edge_times.push_back(edge.times);
    }
    size_t first = s * sizes.candidates;
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(first), state.candidates, 1.0F);
    for (const EncodedState::Part& part : state.parts) {
      part_graph.push_back(static_cast<int32_t>(first + part.candidate));
      part_of.push_back(place[part.node]);
      part_times.push_back(part.times);
    }
  }
  return {0, 0, places.size(), from.size(), part_of.size()};
}

void StateBatch::add_features(const EncodedNode& node) {
  size_t at = features.size();
  features.resize(at + kNodeFeatures);
  features[at + static_cast<size_t>(node.op)] = 1;
  std::copy(node.gives.begin(), node.gives.end(), features.begin() + at + kOpCount);
  std::copy(node.takes.begin(), node.takes.end(),
            features.begin() + at + kOpCount + node.gives.size());
}

void StateBatch::pad() {
  features.resize(sizes.nodes * kNodeFeatures);
  from.resize(sizes.edges), part_of.resize(sizes.parts);
  to.resize(sizes.edges, static_cast<int32_t>(sizes.nodes));
  part_graph.resize(sizes.parts, static_cast<int32_t>(sizes.states * sizes.candidates));
  edge_times.resize(sizes.edges), part_times.resize(sizes.parts);
}

} // namespace tg::paper
