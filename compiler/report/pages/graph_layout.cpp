// Implements graph_layout.h:
//
// 1. Layers: each node is placed at the length of its longest path from an input, then moved down
// to
//    the layer above its first user.
// 2. A node with a user further down than the next layer gets one `bend` in each layer between,
// shared
//    by all such users.
// 3. Order within layers: sweeps down and up move every vertex to the mean position of its
// neighbours
//    (barycentres). The order with the fewest crossings is kept.
// 4. Positions: further sweeps move each layer as close to its neighbours' positions as its order
// and
//    distances allow, by isotonic regression (pool adjacent violators: Ayer et al. 1955).
#include "compiler/report/pages/graph_layout.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace tg::pages {
namespace {

constexpr double kBetweenNodes = 18, kBetweenBends = 10, kBetweenLayers = 30, kMargin = 10;
constexpr size_t kMostBends = 20000; // beyond: edges are straight lines
constexpr int kOrderSweeps = 12, kPlaceSweeps = 16;

struct Vertex {
  uint32_t layer = 0;
  Box box;
  bool bend = false;
  double x = 0; // of the centre
  std::vector<uint32_t> above, below;
};

class Layers {
public:
  Layers(const Picture& picture, llvm::ArrayRef<Box> boxes) : picture_(picture) {
    vertices_.resize(boxes.size());
    for (size_t i = 0; i < boxes.size(); ++i) vertices_[i].box = boxes[i];
    assign_layers();
    add_bends();
    order();
    place();
  }
  Layout layout();

private:
  void assign_layers();
  void add_bends();
  void connect(uint32_t from, uint32_t to) {
    if (llvm::is_contained(vertices_[from].below, to)) return;
    vertices_[from].below.push_back(to);
    vertices_[to].above.push_back(from);
  }
  void order();
  void sort_row(std::vector<uint32_t>& row, bool down);
  size_t crossings() const;
  void place();
  void place_row(llvm::ArrayRef<uint32_t> row, bool down, bool both);
  double wanted(const Vertex& v, bool down, bool both) const;
  std::vector<std::pair<uint32_t, double>> ports(uint32_t node,
                                                 llvm::function_ref<double(uint32_t)> middle) const;
  Route route(uint32_t from, uint32_t to, double arrival, llvm::ArrayRef<double> top,
              llvm::ArrayRef<double> depth, llvm::function_ref<double(uint32_t)> middle) const;
  double distance(const Vertex& a, const Vertex& b) const {
    double gap = a.bend && b.bend ? kBetweenBends : kBetweenNodes;
    return (a.box.width + b.box.width) / 2 + gap;
  }
  void renumber(llvm::ArrayRef<uint32_t> row) {
    for (size_t k = 0; k < row.size(); ++k) rank_[row[k]] = static_cast<double>(k);
  }

  const Picture& picture_;
  std::vector<Vertex> vertices_;            // nodes, then bends
  std::vector<std::vector<uint32_t>> rows_; // vertices by layer, from left to right
  std::vector<double> rank_;                // position in its row
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> bend_of_; // (node, layer)
};

void Layers::assign_layers() {
  size_t count = picture_.nodes.size();
  std::vector<uint32_t> first_user(count, UINT32_MAX);
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t operand : picture_.nodes[i].operands)
      vertices_[i].layer = std::max(vertices_[i].layer, vertices_[operand].layer + 1);
  for (uint32_t i = static_cast<uint32_t>(count); i-- > 0;) {
    if (first_user[i] != UINT32_MAX) vertices_[i].layer = first_user[i] - 1;
    for (uint32_t operand : picture_.nodes[i].operands)
      first_user[operand] = std::min(first_user[operand], vertices_[i].layer);
  }
}

void Layers::add_bends() {
  size_t bends = 0;
  for (uint32_t i = 0; i < picture_.nodes.size(); ++i)
    for (uint32_t operand : picture_.nodes[i].operands) {
      uint32_t from = operand;
      uint32_t last = vertices_[i].layer;
      for (uint32_t layer = vertices_[operand].layer + 1; layer < last; ++layer) {
        auto [at, fresh] =
            bend_of_.try_emplace({operand, layer}, static_cast<uint32_t>(vertices_.size()));
        if (fresh && ++bends > kMostBends) {
          bend_of_.erase(at);
          break;
        }
        if (fresh) vertices_.push_back({layer, {0, 0}, true, 0, {}, {}});
        connect(from, at->second);
        from = at->second;
      }
      if (vertices_[from].layer + 1 == last) connect(from, i);
    }
  uint32_t deepest = 0;
  for (const Vertex& v : vertices_) deepest = std::max(deepest, v.layer);
  rows_.resize(vertices_.empty() ? 0 : deepest + 1);
  for (uint32_t v = 0; v < vertices_.size(); ++v) rows_[vertices_[v].layer].push_back(v);
}

// --- order --------------------------------------------------------------------------------------

void Layers::sort_row(std::vector<uint32_t>& row, bool down) {
  std::map<uint32_t, double> mean;
  for (uint32_t v : row) {
    const std::vector<uint32_t>& near = down ? vertices_[v].above : vertices_[v].below;
    double sum = 0;
    for (uint32_t n : near) sum += rank_[n] / std::max<double>(rows_[vertices_[n].layer].size(), 1);
    mean[v] = near.empty() ? rank_[v] / static_cast<double>(row.size())
                           : sum / static_cast<double>(near.size());
  }
  llvm::stable_sort(row, [&](uint32_t a, uint32_t b) { return mean[a] < mean[b]; });
  renumber(row);
}

/// Returns the number of crossing pairs of edges between neighbouring layers: inversions, counted
/// with a binary indexed tree.
size_t Layers::crossings() const {
  size_t crossed = 0;
  for (size_t layer = 0; layer + 1 < rows_.size(); ++layer) {
    std::vector<size_t> tree(rows_[layer + 1].size() + 1, 0);
    size_t seen = 0;
    for (uint32_t v : rows_[layer]) {
      std::vector<size_t> ends;
      for (uint32_t n : vertices_[v].below) ends.push_back(static_cast<size_t>(rank_[n]));
      llvm::sort(ends);
      for (size_t end : ends) {
        size_t before = 0;
        for (size_t k = end + 1; k > 0; k &= k - 1) before += tree[k];
        crossed += seen - before;
      }
      for (size_t end : ends)
        for (size_t k = end + 1; k < tree.size(); k += k & (~k + 1)) ++tree[k];
      seen += ends.size();
    }
  }
  return crossed;
}

void Layers::order() {
  rank_.assign(vertices_.size(), 0);
  for (const auto& row : rows_) renumber(row);
  std::vector<std::vector<uint32_t>> best = rows_;
  size_t fewest = crossings();
  for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
    bool down = sweep % 2 == 0;
    for (size_t k = 0; k < rows_.size(); ++k)
      sort_row(rows_[down ? k : rows_.size() - 1 - k], down);
    if (size_t now = crossings(); now < fewest) fewest = now, best = rows_;
  }
  rows_ = std::move(best);
  for (const auto& row : rows_) renumber(row);
}

// --- places -------------------------------------------------------------------------------------

double Layers::wanted(const Vertex& v, bool down, bool both) const {
  double sum = 0, weight = 0;
  auto add = [&](llvm::ArrayRef<uint32_t> near) {
    for (uint32_t n : near) {
      // Long edges, and nodes in line with their neighbour, are kept straight.
      double w = v.bend != vertices_[n].bend ? 1 : v.bend ? 8 : 3;
      sum += w * vertices_[n].x, weight += w;
    }
  };
  if (down || both) add(v.above);
  if (!down || both) add(v.below);
  return weight > 0 ? sum / weight : v.x;
}

/// Computes the nearest positions in the least-squares sense that preserve order and distances.
void Layers::place_row(llvm::ArrayRef<uint32_t> row, bool down, bool both) {
  struct Block {
    double sum, weight;
    size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<double> offset(row.size(), 0);
  std::vector<Block> blocks;
  for (size_t k = 0; k < row.size(); ++k) {
    const Vertex& v = vertices_[row[k]];
    if (k > 0) offset[k] = offset[k - 1] + distance(vertices_[row[k - 1]], v);
    double weight = v.bend ? 2 : 1;
    blocks.push_back({weight * (wanted(v, down, both) - offset[k]), weight, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().weight += last.weight;
      blocks.back().count += last.count;
    }
  }
  size_t k = 0;
  for (const Block& block : blocks)
    for (size_t i = 0; i < block.count; ++i, ++k) vertices_[row[k]].x = block.mean() + offset[k];
}

void Layers::place() {
  for (const auto& row : rows_) {
    double at = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      if (k > 0) at += distance(vertices_[row[k - 1]], vertices_[row[k]]);
      vertices_[row[k]].x = at;
    }
    for (uint32_t v : row) vertices_[v].x -= at / 2;
  }
  for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
    bool down = sweep % 2 == 0, both = sweep + 4 >= kPlaceSweeps;
    for (size_t k = 0; k < rows_.size(); ++k)
      place_row(rows_[down ? k : rows_.size() - 1 - k], down, both);
  }
}

// --- the result ----------------------------------------------------------------------------------

Layout Layers::layout() {
  Layout out;
  if (vertices_.empty()) return out;
  double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
  for (const Vertex& v : vertices_) {
    left = std::min(left, v.x - v.box.width / 2);
    right = std::max(right, v.x + v.box.width / 2);
  }
  std::vector<double> top(rows_.size()), depth(rows_.size(), 0);
  double y = kMargin;
  for (size_t layer = 0; layer < rows_.size(); ++layer) {
    top[layer] = y;
    for (uint32_t v : rows_[layer]) depth[layer] = std::max(depth[layer], vertices_[v].box.height);
    y += depth[layer] + kBetweenLayers;
  }
  out.width = right - left + 2 * kMargin;
  out.height = y - kBetweenLayers + kMargin;
  auto middle = [&](uint32_t v) { return vertices_[v].x - left + kMargin; };
  for (uint32_t i = 0; i < picture_.nodes.size(); ++i)
    out.places.push_back({middle(i) - vertices_[i].box.width / 2, top[vertices_[i].layer]});
  for (uint32_t i = 0; i < picture_.nodes.size(); ++i)
    for (auto [operand, port] : ports(i, middle))
      out.routes.push_back(route(operand, i, middle(i) + port, top, depth, middle));
  return out;
}

/// Returns the operands of a node, and the distance of each arriving edge from its centre: side by
/// side, in operand order.
std::vector<std::pair<uint32_t, double>>
Layers::ports(uint32_t node, llvm::function_ref<double(uint32_t)> middle) const {
  std::vector<std::pair<double, uint32_t>> arriving;
  for (uint32_t operand : picture_.nodes[node].operands) {
    auto bend = bend_of_.find({operand, vertices_[node].layer - 1});
    arriving.emplace_back(middle(bend == bend_of_.end() ? operand : bend->second), operand);
  }
  llvm::sort(arriving);
  auto count = static_cast<double>(arriving.size());
  double step = std::min(14.0, 0.7 * vertices_[node].box.width / std::max(count, 1.0));
  std::vector<std::pair<uint32_t, double>> out;
  for (size_t k = 0; k < arriving.size(); ++k)
    out.emplace_back(arriving[k].second, (static_cast<double>(k) - (count - 1) / 2) * step);
  return out;
}

Route Layers::route(uint32_t from, uint32_t to, double arrival, llvm::ArrayRef<double> top,
                    llvm::ArrayRef<double> depth,
                    llvm::function_ref<double(uint32_t)> middle) const {
  Route route{from, to, {}};
  uint32_t layer = vertices_[from].layer, last = vertices_[to].layer;
  double x = middle(from), y = top[layer] + vertices_[from].box.height;
  auto go = [&](double x1, double y1) {
    if (y1 > y) route.pieces.push_back({x, y, x1, y1});
    x = x1, y = y1;
  };
  go(x, top[layer] + depth[layer]); // past taller nodes in its layer
  while (++layer < last) {
    auto bend = bend_of_.find({from, layer});
    if (bend == bend_of_.end()) continue;
    go(middle(bend->second), top[layer]);
    go(x, top[layer] + depth[layer]);
  }
  go(arrival, top[last]);
  return route;
}

} // namespace

Layout compute_layout(const Picture& picture, llvm::ArrayRef<Box> boxes) {
  return Layers(picture, boxes).layout();
}

} // namespace tg::pages
