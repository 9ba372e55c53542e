#include "compiler/search/learned/encoding.h"

#include "compiler/search/learned/features.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace tg {

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

size_t EncodedState::nodes() const {
  size_t most = 1;
  for (const auto& candidate : candidates) most = std::max(most, candidate->nodes.size());
  return most;
}

size_t bucket_of(size_t count) {
  size_t power = std::max<size_t>(4, llvm::PowerOf2Ceil(count));
  return count <= power / 4 * 3 ? power / 4 * 3 : power;
}

StateBatch::StateBatch(llvm::ArrayRef<const EncodedState*> batch, size_t states, size_t candidates,
                       size_t nodes)
    : states(states), candidates(candidates), nodes(nodes) {
  size_t graphs = states * candidates;
  features.resize(graphs * nodes * kNodeFeatures);
  edges.resize(graphs * nodes * nodes);
  present.resize(graphs * nodes);
  mask.resize(graphs);
  for (size_t g = 0; g < graphs; ++g)
    for (size_t n = 0; n < nodes; ++n) edges[(g * nodes + n) * nodes + n] = 1;
  for (size_t s = 0; s < batch.size(); ++s) {
    assert(batch[s]->candidates.size() <= candidates && batch[s]->nodes() <= nodes);
    for (size_t c = 0; c < batch[s]->candidates.size(); ++c) {
      const EncodedGraph& graph = *batch[s]->candidates[c];
      size_t at = s * candidates + c;
      mask[at] = 1;
      for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const EncodedNode& node = graph.nodes[n];
        float* row = &features[(at * nodes + n) * kNodeFeatures];
        row[static_cast<size_t>(node.op)] = 1;
        std::copy(node.gives.begin(), node.gives.end(), row + kOpCount);
        std::copy(node.takes.begin(), node.takes.end(), row + kOpCount + node.gives.size());
        present[at * nodes + n] = 1;
      }
      for (auto [from, to] : graph.edges) edges[(at * nodes + to) * nodes + from] = 1;
    }
  }
}

} // namespace tg
