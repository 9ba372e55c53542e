// Steiner trees. The greedy algorithm lets flow rise from every uncovered terminal.
// A node pours its flow into all its incoming arcs, and a full arc passes the flow on to its tail.
// The first arc of the root that fills completes a tree, whose arcs cost nothing from then on.
// The exact algorithm computes the cheapest trees from all nodes to all sets of terminals.
#include "runtime/tune/pairs/arcs.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <queue>

namespace tg::tune {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// One flood, which ends when an arc of the root is full.
class Flood {
public:
  Flood(const ArcGraph& graph, const std::vector<double>& weights, llvm::ArrayRef<size_t> terminals)
      : graph_(graph), weights_(weights), nodes_(graph.nodes) {
    for (Node& node : nodes_) node.sources.resize(static_cast<unsigned>(terminals.size()));
    for (size_t i = 0; i < terminals.size(); ++i)
      nodes_[terminals[i]].sources.set(static_cast<unsigned>(i));
    for (size_t arc = 0; arc < graph.arcs.size(); ++arc)
      nodes_[graph.arcs[arc].to].entering.push_back(arc);
    for (Node& node : nodes_)
      llvm::stable_sort(node.entering, [&](size_t a, size_t b) { return fills_before(a, b); });
  }

  /// Returns the arcs of the tree; nullopt if flow cannot reach the root.
  std::optional<Tree> run() {
    for (;;) {
      size_t node = next_to_fill();
      if (node == graph_.nodes) return {};
      rise(time_left(nodes_[node]));
      size_t arc = nodes_[node].entering[nodes_[node].next++];
      if (graph_.arcs[arc].from == 0) return tree_below(arc);
      pass_on(arc);
    }
  }

private:
  struct Node {
    std::vector<size_t> entering; // arcs, in the order in which they fill
    size_t next = 0;              // the first of `entering` that is neither full nor refused
    double level = 0;             // volume in each arc that is filling
    llvm::BitVector sources;      // terminals whose flow reaches this node
    std::vector<size_t> full_in, full_out;
  };

  bool fills_before(size_t a, size_t b) const {
    bool root_a = graph_.arcs[a].from == 0, root_b = graph_.arcs[b].from == 0;
    return weights_[a] != weights_[b] ? weights_[a] < weights_[b] : root_a && !root_b;
  }

  double time_left(const Node& node) const {
    unsigned flow = node.sources.count();
    if (flow == 0 || node.next == node.entering.size()) return kNever;
    return std::max(0.0, weights_[node.entering[node.next]] - node.level) / flow;
  }

  /// Returns the node whose next arc fills first; among equals, one whose arc comes from the root.
  size_t next_to_fill() const {
    size_t best = graph_.nodes;
    double least = kNever;
    bool from_root = false;
    for (size_t node = 1; node < nodes_.size(); ++node) {
      double time = time_left(nodes_[node]);
      if (time == kNever || time > least) continue;
      bool root = graph_.arcs[nodes_[node].entering[nodes_[node].next]].from == 0;
      if (time == least && (from_root || !root)) continue;
      best = node;
      least = time;
      from_root = root;
    }
    return best;
  }

  void rise(double time) {
    for (Node& node : nodes_) node.level += time * node.sources.count();
  }

  /// A full arc passes the flow of its head to its tail and beyond.
  /// It is refused if some of this flow is already there.
  void pass_on(size_t arc) {
    size_t from = graph_.arcs[arc].from, to = graph_.arcs[arc].to;
    const llvm::BitVector flow = nodes_[to].sources;
    std::vector<size_t> above = {from};
    for (size_t i = 0; i < above.size(); ++i) {
      if (nodes_[above[i]].sources.anyCommon(flow)) return;
      for (size_t full : nodes_[above[i]].full_in)
        if (size_t tail = graph_.arcs[full].from; !llvm::is_contained(above, tail))
          above.push_back(tail);
    }
    for (size_t node : above) nodes_[node].sources |= flow;
    nodes_[to].full_in.push_back(arc);
    nodes_[from].full_out.push_back(arc);
  }

  Tree tree_below(size_t arc) const {
    Tree tree = {arc};
    for (size_t i = 0; i < tree.size(); ++i)
      for (size_t full : nodes_[graph_.arcs[tree[i]].to].full_out) tree.push_back(full);
    return tree;
  }

  const ArcGraph& graph_;
  const std::vector<double>& weights_;
  std::vector<Node> nodes_;
};

/// Returns the arcs between the nodes in `kept` and the root. `back` maps their indices to those
/// of the graph.
ArcGraph within(const ArcGraph& graph, const llvm::BitVector& kept, std::vector<size_t>& back) {
  ArcGraph part;
  std::vector<size_t> name(graph.nodes, 0);
  for (unsigned node : kept.set_bits()) name[node] = part.nodes++;
  auto is_kept = [&](size_t node) { return node == 0 || kept.test(static_cast<unsigned>(node)); };
  for (size_t i = 0; i < graph.arcs.size(); ++i) {
    const Arc& arc = graph.arcs[i];
    if (!is_kept(arc.from) || !is_kept(arc.to)) continue;
    part.arcs.push_back({name[arc.from], name[arc.to], arc.weight});
    back.push_back(i);
  }
  return part;
}

/// Returns the cheapest tree of the nodes that the arcs reach,
/// without leaves that are not terminals.
Tree trimmed(const ArcGraph& graph, const llvm::BitVector& reached,
             llvm::ArrayRef<size_t> terminals) {
  std::vector<size_t> back;
  std::optional<Tree> tree = arborescence(within(graph, reached, back));
  assert(tree && "the arcs reach all nodes of the subgraph");
  for (size_t& arc : *tree) arc = back[arc];
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> has_children(graph.nodes, false);
    for (size_t arc : *tree) has_children[graph.arcs[arc].from] = true;
    llvm::erase_if(*tree, [&](size_t arc) {
      size_t to = graph.arcs[arc].to;
      bool ends = !has_children[to] && !llvm::is_contained(terminals, to);
      changed |= ends;
      return ends;
    });
  }
  return *tree;
}

/// The algorithm of Dreyfus and Wagner: cost[set][node] is the cost of the cheapest tree
/// from the node to the terminals of the set.
class SubsetTrees {
public:
  SubsetTrees(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals)
      : graph_(graph), sets_(size_t{1} << terminals.size()),
        cells_(sets_, std::vector<Cell>(graph.nodes)), entering_(graph.nodes) {
    for (size_t arc = 0; arc < graph.arcs.size(); ++arc)
      entering_[graph.arcs[arc].to].push_back(arc);
    for (size_t i = 0; i < terminals.size(); ++i) cells_[size_t{1} << i][terminals[i]].cost = 0;
    for (size_t set = 1; set < sets_; ++set) {
      merge(set);
      spread(set);
    }
  }

  double least() const { return cells_[sets_ - 1][0].cost; }

  llvm::BitVector nodes_of_best() const {
    llvm::BitVector reached(static_cast<unsigned>(graph_.nodes));
    std::vector<std::pair<size_t, size_t>> open = {{sets_ - 1, 0}};
    while (!open.empty()) {
      auto [set, node] = open.back();
      open.pop_back();
      if (node != 0) reached.set(static_cast<unsigned>(node));
      const Cell& cell = cells_[set][node];
      if (cell.arc != kNone) {
        open.push_back({set, graph_.arcs[cell.arc].to});
      } else if (cell.part != 0) {
        open.push_back({cell.part, node});
        open.push_back({set ^ cell.part, node});
      }
    }
    return reached;
  }

private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Cell {
    double cost = kNever;
    size_t arc = kNone; // the first arc of the tree, or
    size_t part = 0;    // the first of two sets between which the node splits
  };

  void merge(size_t set) {
    for (size_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
      if (part < (set ^ part)) continue; // each pair once
      for (size_t node = 0; node < graph_.nodes; ++node) {
        double both = cells_[part][node].cost + cells_[set ^ part][node].cost;
        if (both < cells_[set][node].cost) cells_[set][node] = {both, kNone, part};
      }
    }
  }

  /// Dijkstra's algorithm, against the direction of the arcs.
  void spread(size_t set) {
    using Item = std::pair<double, size_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
    std::vector<Cell>& cells = cells_[set];
    for (size_t node = 0; node < cells.size(); ++node)
      if (cells[node].cost != kNever) queue.push({cells[node].cost, node});
    while (!queue.empty()) {
      auto [cost, node] = queue.top();
      queue.pop();
      if (cost > cells[node].cost) continue;
      for (size_t arc : entering_[node]) {
        double longer = cost + graph_.arcs[arc].weight;
        if (Cell& tail = cells[graph_.arcs[arc].from]; longer < tail.cost) {
          tail = {longer, arc, 0};
          queue.push({longer, graph_.arcs[arc].from});
        }
      }
    }
  }

  const ArcGraph& graph_;
  size_t sets_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<std::vector<size_t>> entering_;
};

} // namespace

std::optional<Tree> greedy_steiner_tree(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals) {
  std::vector<double> weights;
  for (const Arc& arc : graph.arcs) weights.push_back(arc.weight);
  llvm::BitVector reached(static_cast<unsigned>(graph.nodes));
  std::vector<size_t> uncovered(terminals.begin(), terminals.end());
  while (!uncovered.empty()) {
    std::optional<Tree> tree = Flood(graph, weights, uncovered).run();
    if (!tree) return {};
    for (size_t arc : *tree) {
      weights[arc] = 0;
      reached.set(static_cast<unsigned>(graph.arcs[arc].to));
    }
    llvm::erase_if(uncovered,
                   [&](size_t node) { return reached.test(static_cast<unsigned>(node)); });
  }
  return trimmed(graph, reached, terminals);
}

std::optional<Tree> exact_steiner_tree(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals) {
  assert(terminals.size() <= kMostExactTerminals);
  if (terminals.empty()) return Tree{};
  SubsetTrees trees(graph, terminals);
  if (trees.least() == kNever) return {};
  return trimmed(graph, trees.nodes_of_best(), terminals);
}

} // namespace tg::tune
