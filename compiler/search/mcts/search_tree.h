// The tree of a Monte Carlo tree search: states of an e-graph as changes from their parents, and
// what simulations through them were worth. Statistics belong to states, not to nodes: where two
// orders of the same steps lead to one state (a fingerprint tells), both nodes share them.
#pragma once

#include "compiler/search/incumbent.h"
#include "compiler/search/mcts/actions.h"
#include "compiler/search/trace.h"

#include "compiler/extract/cost/cost.h"

#include <llvm/ADT/DenseMap.h>

#include <deque>
#include <optional>

namespace tg {

class SearchTree {
public:
  struct Stats {
    uint32_t visits = 0;
    double total = 0; // of gains
    double mean() const { return visits ? total / visits : 0; }
  };
  struct Edge {
    uint32_t action = 0; // in the node's actions
    int32_t child = -1;
  };
  struct Node {
    int32_t parent = -1;
    Delta change;                // from its parent
    std::vector<uint32_t> spent; // matches that its action used, by number in the pool
    std::vector<Match> found;    // what its change made possible
    Incumbent::State incumbent;
    /// What the policy said of its best graph, or of one before that was hardly dearer; and what
    /// that graph costs.
    std::shared_ptr<const Opinion> opinion;
    double opinion_us = 0;
    std::vector<Action> actions; // in the order of their turns; made at the first visit
    std::vector<Edge> edges;     // of the first of them
    bool listed = false;         // actions are made
    size_t next_action = 0;
    uint32_t stats = 0;
    uint32_t depth = 0;
    double best = kInfiniteCost; // least cost below
    RuleId rule = kSourceRule;
    uint32_t places = 0;
    std::string where; // of traces: the place, in words
  };

  explicit SearchTree(bool transpose) : transpose_(transpose) {}

  /// References stay good while nodes are added.
  Node& operator[](int32_t at) { return nodes_[static_cast<size_t>(at)]; }
  const Node& operator[](int32_t at) const { return nodes_[static_cast<size_t>(at)]; }
  Node& root() { return nodes_.front(); }
  Node& add() { return nodes_.emplace_back(); }
  /// To call when a node is complete: what it holds counts.
  void weigh(const Node& node) { bytes_ += bytes_of(node); }
  size_t memory_bytes() const { return bytes_; }
  /// The newest node.
  int32_t last() const { return static_cast<int32_t>(nodes_.size()) - 1; }
  const Stats& stats(const Node& node) const { return stats_[node.stats]; }

  /// Statistics for a state: new ones, or those that the state has already.
  uint32_t stats_of(const EGraph& state);
  size_t transpositions() const { return transpositions_; }
  /// A simulation goes through the node. Until it is credited it counts as one without a gain, so
  /// that those beside it go elsewhere (virtual loss).
  void visit(int32_t at) { ++stats_[(*this)[at].stats].visits; }
  /// It ended in a gain, and saw this least cost.
  void credit(int32_t at, double gain, double least);

  /// The child with the highest bound on its gain, `scale` times the mean gain and `c` times the
  /// width; -1 if there is none.
  int32_t highest_bound(const Node& node, double scale, double c) const;
  /// The same of a bound by what was known beforehand (PUCT; Rosin 2011, Silver et al. 2017).
  int32_t highest_prior_bound(const Node& node, double scale, double c) const;
  /// The child of the root below which the best state was found; among equals the most visited.
  int32_t best_child() const;
  /// The node becomes the root. What is below it stays, or, unless `keep`, the node alone.
  void reroot(int32_t at, bool keep);
  /// Breadth first, up to what can be looked at. `nodes`: of the e-graph at the root.
  void note(int32_t chosen, size_t nodes, SearchTrace& trace) const;

private:
  static size_t bytes_of(const Node& node);

  bool transpose_;
  size_t bytes_ = 0;       // about
  std::deque<Node> nodes_; // the root first
  std::vector<Stats> stats_;
  llvm::DenseMap<uint64_t, uint32_t> seen_; // fingerprint to stats
  size_t transpositions_ = 0;
};

} // namespace tg
