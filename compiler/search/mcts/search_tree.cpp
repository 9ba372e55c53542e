#include "compiler/search/mcts/search_tree.h"

#include "compiler/extract/problem.h"

#include <algorithm>
#include <cmath>

namespace tg {

size_t SearchTree::bytes_of(const Node& node) {
  return sizeof(node) + node.change.memory_bytes() + node.found.capacity() * sizeof(Match) +
         node.actions.capacity() * sizeof(Action) + node.spent.capacity() * sizeof(uint32_t);
}

void SearchTree::credit(int32_t at, double gain, double least) {
  Node& node = (*this)[at];
  node.best = std::min(node.best, least);
  node.stats.total += gain;
}

int32_t SearchTree::highest_bound(const Node& node, double scale, double c) const {
  int32_t best = -1;
  double most = 0;
  double visits = node.stats.visits + 1.0;
  for (const Edge& edge : node.edges) {
    const Stats& of_child = (*this)[edge.child].stats;
    double n = std::max(of_child.visits, 1u);
    double bound = of_child.total / n * scale + c * std::sqrt(2 * std::log(visits) / n);
    if (best < 0 || bound > most) best = edge.child, most = bound;
  }
  return best;
}

int32_t SearchTree::highest_prior_bound(const Node& node, double scale, double c) const {
  int32_t best = -1;
  double most = 0;
  double root = std::sqrt(node.stats.visits + 1.0);
  for (const Edge& edge : node.edges) {
    const Stats& of_child = (*this)[edge.child].stats;
    double bound = of_child.mean() * scale +
                   c * node.actions[edge.action].share * root / (1.0 + of_child.visits);
    if (best < 0 || bound > most) best = edge.child, most = bound;
  }
  return best;
}

int32_t SearchTree::best_child() const {
  int32_t best = -1;
  for (const Edge& edge : nodes_.front().edges) {
    if (best < 0) {
      best = edge.child;
      continue;
    }
    const Node &a = (*this)[edge.child], &b = (*this)[best];
    if (a.best < b.best * (1 - kLeastGain) || (a.best <= b.best && a.stats.visits > b.stats.visits))
      best = edge.child;
  }
  return best;
}

void SearchTree::reroot(int32_t at, bool keep) {
  std::deque<Node> kept;
  std::vector<int32_t> worklist{at};
  for (size_t i = 0; i < worklist.size(); ++i) {
    Node& node = kept.emplace_back(std::move((*this)[worklist[i]]));
    if (!keep) {
      node.edges.clear(), node.actions.clear();
      node.next_action = 0, node.listed = false;
    }
    for (Edge& edge : node.edges) {
      worklist.push_back(edge.child);
      edge.child = static_cast<int32_t>(worklist.size()) - 1;
    }
  }
  nodes_ = std::move(kept);
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (const Edge& edge : nodes_[i].edges) (*this)[edge.child].parent = static_cast<int32_t>(i);
  nodes_.front().parent = -1;
  nodes_.front().change = {};
  bytes_ = 0;
  for (const Node& node : nodes_) weigh(node);
}

void SearchTree::note(int32_t chosen, size_t nodes, SearchTrace& trace) const {
  std::vector<SearchTrace::TreeNode>& out = trace.tree;
  struct Item {
    int32_t node, number;
  };
  std::vector<Item> worklist;
  auto add = [&](int32_t at, int32_t parent) {
    const Node& node = (*this)[at];
    out.push_back({parent, node.rule, node.places, node.stats.visits, node.stats.mean(),
                   node.incumbent.cost, at == 0 ? nodes : node.change.result_counters.live_nodes,
                   at == 0 || at == chosen, node.where});
    worklist.push_back({at, static_cast<int32_t>(out.size()) - 1});
  };
  if (out.size() < SearchTrace::kMostTreeNodes) add(0, -1);
  for (size_t i = 0; i < worklist.size() && out.size() < SearchTrace::kMostTreeNodes; ++i) {
    Item item = worklist[i];
    for (const Edge& edge : (*this)[item.node].edges) add(edge.child, item.number);
  }
}

} // namespace tg
