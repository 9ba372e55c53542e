// The tree of a Monte Carlo tree search: states of an e-graph as changes from their parents, and
// the results of the simulations through them.
#pragma once

#include "compiler/search/incumbent.h"
#include "compiler/search/mcts/actions.h"
#include "compiler/search/trace.h"

#include "compiler/extract/cost/cost.h"

#include <deque>
#include <optional>

namespace tg {

class SearchTree {
public:
  struct Stats {
    uint32_t visits = 0;
    double total = 0; // sum of gains
    double mean() const { return visits ? total / visits : 0; }
  };
  struct Edge {
    uint32_t action = 0; // index in the node's actions
    int32_t child = -1;
  };
  struct Node {
    int32_t parent = -1;
    Delta change;                // from the parent's state
    std::vector<uint32_t> spent; // matches used by its action, by pool number
    std::vector<Match> found;    // matches that its change made possible
    Incumbent::State incumbent;
    /// The policy's opinion of the node's best graph, or of an earlier graph that was hardly more
    /// expensive, and the cost of that graph.
    std::shared_ptr<const Assessment> assessment;
    double opinion_us = 0;
    std::vector<Action> actions; // in the order of trials; listed at the first visit
    std::vector<Edge> edges;     // for the first of the actions
    bool listed = false;         // actions are listed
    size_t next_action = 0;
    Stats stats;
    uint32_t depth = 0;
    double best = kInfiniteCost; // lowest cost below
    RuleId rule = kSourceRule;
    uint32_t places = 0;
    std::string where; // description of the place, with a trace
  };

  /// References remain valid while nodes are added.
  Node& operator[](int32_t at) { return nodes_[static_cast<size_t>(at)]; }
  const Node& operator[](int32_t at) const { return nodes_[static_cast<size_t>(at)]; }
  Node& root() { return nodes_.front(); }
  Node& add() { return nodes_.emplace_back(); }
  /// Must be called when a node is complete: adds its memory.
  void weigh(const Node& node) { bytes_ += bytes_of(node); }
  size_t memory_bytes() const { return bytes_; }
  /// Returns the newest node.
  int32_t last() const { return static_cast<int32_t>(nodes_.size()) - 1; }

  /// Counts a visit. Until the simulation is credited it counts as one without a gain, so parallel
  /// simulations take other paths (virtual loss).
  void visit(int32_t at) { ++(*this)[at].stats.visits; }
  /// Adds a finished simulation's gain and the lowest cost it saw.
  void credit(int32_t at, double gain, double least);

  /// Returns the child with the highest upper bound on its gain: `scale` times the mean gain plus
  /// `c` times the width. Returns -1 if there is none.
  int32_t highest_bound(const Node& node, double scale, double c) const;
  /// The same with a bound that includes priors (PUCT; Rosin 2011, Silver et al. 2017).
  int32_t highest_prior_bound(const Node& node, double scale, double c) const;
  /// Returns the root's child below which the best state was found; ties go to the most visited.
  int32_t best_child() const;
  /// Makes the node the root. Keeps its subtree if `keep`, otherwise only the node.
  void reroot(int32_t at, bool keep);
  /// Appends the tree to the trace breadth first, up to a displayable size. `nodes` is the size of
  /// the e-graph at the root.
  void note(int32_t chosen, size_t nodes, SearchTrace& trace) const;

private:
  static size_t bytes_of(const Node& node);

  size_t bytes_ = 0;       // approximate
  std::deque<Node> nodes_; // the root is first
};

} // namespace tg
