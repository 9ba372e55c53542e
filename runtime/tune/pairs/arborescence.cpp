// The algorithm of Chu, Liu and Edmonds, level by level: cycles of least arcs are contracted
// to nodes until there are none. Then each level's tree is expanded into a tree of the level below.
#include "runtime/tune/pairs/arcs.h"

#include <llvm/ADT/BitVector.h>

#include <algorithm>

namespace tg::tune {

namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

struct Level {
  struct Edge {
    size_t from, to;
    double weight;
    size_t below; // index of the edge of the level below, or of the graph's arc
  };
  size_t nodes = 0, root = 0;
  std::vector<Edge> edges;
  std::vector<size_t> least; // edge into each node; none for the root
  std::vector<size_t> part;  // node of the next level

  /// Returns false if a node has no incoming edge.
  bool choose_least() {
    least.assign(nodes, kNone);
    for (size_t i = 0; i < edges.size(); ++i) {
      const Edge& edge = edges[i];
      if (edge.to == root || edge.from == edge.to) continue;
      size_t& best = least[edge.to];
      if (best == kNone || edge.weight < edges[best].weight) best = i;
    }
    for (size_t node = 0; node < nodes; ++node)
      if (node != root && least[node] == kNone) return false;
    return true;
  }

  /// Names the parts and returns their number. A cycle is one part;
  /// every other node is a part by itself.
  size_t name_parts() {
    part.assign(nodes, kNone);
    std::vector<size_t> seen(nodes, kNone);
    size_t parts = 0;
    for (size_t start = 0; start < nodes; ++start) {
      size_t node = start;
      while (node != root && seen[node] == kNone) {
        seen[node] = start;
        node = edges[least[node]].from;
      }
      if (node == root || seen[node] != start || part[node] != kNone) continue;
      for (; part[node] == kNone; node = edges[least[node]].from) part[node] = parts;
      ++parts;
    }
    for (size_t& one : part)
      if (one == kNone) one = parts++;
    return parts;
  }

  Level contracted(size_t parts) const {
    Level next;
    next.nodes = parts;
    next.root = part[root];
    for (size_t i = 0; i < edges.size(); ++i) {
      const Edge& edge = edges[i];
      if (part[edge.from] == part[edge.to] || edge.to == root) continue;
      double saved = edges[least[edge.to]].weight;
      next.edges.push_back({part[edge.from], part[edge.to], edge.weight - saved, i});
    }
    return next;
  }

  /// Returns the edges of this level's tree, given those of the next level:
  /// they enter one node of each part, and the other nodes keep their least edge.
  std::vector<size_t> opened(const Level& next, const std::vector<size_t>& tree) const {
    std::vector<size_t> entered = least;
    for (size_t edge : tree)
      if (size_t mine = next.edges[edge].below; true) entered[edges[mine].to] = mine;
    llvm::erase_value(entered, kNone);
    return entered;
  }
};

} // namespace

std::optional<Tree> arborescence(const ArcGraph& graph) {
  std::vector<Level> levels(1);
  levels[0].nodes = graph.nodes;
  for (size_t i = 0; i < graph.arcs.size(); ++i)
    levels[0].edges.push_back({graph.arcs[i].from, graph.arcs[i].to, graph.arcs[i].weight, i});
  for (;;) {
    Level& top = levels.back();
    if (!top.choose_least()) return {};
    size_t parts = top.name_parts();
    if (parts == top.nodes) break;
    Level next = top.contracted(parts);
    levels.push_back(std::move(next));
  }
  std::vector<size_t> tree = levels.back().least;
  llvm::erase_value(tree, kNone);
  for (size_t i = levels.size() - 1; i-- > 0;) tree = levels[i].opened(levels[i + 1], tree);
  std::sort(tree.begin(), tree.end());
  return tree;
}

double weight_of(const ArcGraph& graph, const Tree& tree) {
  double all = 0;
  for (size_t arc : tree) all += graph.arcs[arc].weight;
  return all;
}

std::vector<size_t> breadth_first(const ArcGraph& graph, const Tree& tree) {
  std::vector<size_t> order = {0};
  llvm::BitVector seen(static_cast<unsigned>(graph.nodes));
  seen.set(0);
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t arc : tree)
      if (auto to = static_cast<unsigned>(graph.arcs[arc].to);
          graph.arcs[arc].from == order[i] && !seen.test(to)) {
        seen.set(to);
        order.push_back(to);
      }
  order.erase(order.begin());
  return order;
}

} // namespace tg::tune
