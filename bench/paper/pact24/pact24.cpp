#include "bench/paper/pact24/pact24.h"

#include "lang/core/support/stop.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

namespace tg::paper {

namespace {

/// An action at a tree node.
struct Edge {
  bool saturated = false; // pruned, or it changed nothing
  bool visited = false;
  uint32_t visits = 0;
  double returns = 0; // sum
  double reward = 0;  // of this step alone
  int32_t child = -1;
};

struct TreeNode {
  std::vector<Edge> edges; // by action
  Delta change;            // from its parent
  double cost = 0;
  uint32_t visits = 0;
  size_t applied = 0;
};

size_t bytes_of(const TreeNode& node) {
  return sizeof(node) + node.edges.capacity() * sizeof(Edge) + node.change.memory_bytes();
}

class Search {
public:
  Search(EGraph& egraph, llvm::ArrayRef<Rule> rules, const Pact24Options& options,
         StatePrice& price)
      : egraph_(egraph), options_(options), price_(price),
        explorer_(egraph, rules, options.explore), rng_(options.seed) {
    report_.rules.resize(rules.size());
  }

  Pact24Report run();

private:
  size_t actions() const { return explorer_.rules().size(); }
  bool decide();
  void simulate();
  int32_t descend(int32_t at);
  bool stops_here(const TreeNode& node, int32_t at);
  int32_t best_by_bound(const TreeNode& node) const;
  int32_t expand(int32_t at);
  double roll_out(double cost);
  void back_up(double value);
  int32_t best_by_mean(const TreeNode& node) const;
  void commit(int32_t action);
  void keep_subtree(int32_t root);
  TreeNode new_node(double cost);
  Explorer::Step step(size_t action);
  double price_now();
  void go_back(Checkpoint to);
  bool limited();
  void note_tree();
  double elapsed() const { return watch_.seconds(); }
  double draw() { return std::uniform_real_distribution<double>(0, 1)(rng_); }

  EGraph& egraph_;
  const Pact24Options& options_;
  StatePrice& price_;
  Explorer explorer_;
  std::mt19937_64 rng_;
  std::vector<TreeNode> tree_; // the root first
  struct Move {
    int32_t node, action;
  };
  std::vector<Move> path_; // path of the current simulation
  Checkpoint root_;
  uint32_t root_mark_ = 0;
  size_t without_effect_ = 0; // consecutive decisions
  size_t tree_bytes_ = 0;     // approximate
  Pact24Report report_;
  Stopwatch watch_;
};

Pact24Report Search::run() {
  explorer_.rebuild();
  report_.start_cost = price_now();
  double cost = report_.start_cost;
  tree_.push_back(new_node(cost));
  report_.stop = StopReason::Iterations;
  while (report_.decisions < options_.max_decisions) {
    if (limited() || explorer_.full()) {
      if (explorer_.full()) report_.stop = StopReason::Nodes;
      break;
    }
    if (!decide()) {
      if (report_.stop == StopReason::Iterations) report_.stop = StopReason::Saturated;
      break;
    }
  }
  report_.end_cost = tree_.front().cost;
  report_.nodes = node_count(egraph_);
  report_.classes = class_count(egraph_);
  report_.seconds = elapsed();
  return std::move(report_);
}

/// Makes one decision. Returns false if nothing is left to do.
bool Search::decide() {
  root_ = egraph_.checkpoint();
  root_mark_ = egraph_.change_mark();
  for (int i = 0; i < options_.budget && !limited(); ++i) simulate();
  int32_t action = best_by_mean(tree_.front());
  if (options_.trace) note_tree();
  if (action < 0) {
    egraph_.release(root_);
    return false;
  }
  commit(action);
  ++report_.decisions;
  report_.seconds = elapsed();
  if (options_.decided) options_.decided(report_);
  return without_effect_ < actions();
}

TreeNode Search::new_node(double cost) {
  TreeNode node;
  node.cost = cost;
  node.edges.resize(actions());
  std::vector<bool> occurs = explorer_.occurring();
  for (size_t i = 0; i < actions(); ++i) node.edges[i].saturated = !occurs[i];
  return node;
}

void Search::simulate() {
  path_.clear();
  int32_t leaf = descend(0);
  double value = 0;
  if (leaf >= 0) {
    int32_t made = expand(leaf);
    if (made >= 0) value = roll_out(tree_[made].cost);
  }
  back_up(value);
  go_back(root_);
  ++report_.simulations;
}

/// Descends to the node to expand. Returns -1 if there is nothing to expand on the way.
int32_t Search::descend(int32_t at) {
  for (;;) {
    TreeNode& node = tree_[at];
    ++node.visits;
    if (stops_here(node, at)) return at;
    int32_t action = best_by_bound(node);
    if (action < 0) return -1;
    path_.push_back({at, action});
    at = node.edges[action].child;
    egraph_.checkpoint();
    [[maybe_unused]] bool done = egraph_.redo(tree_[at].change);
    assert(done && "redo() requires the state of the parent");
    explorer_.moved();
    if (explorer_.full()) return -1;
  }
}

bool Search::stops_here(const TreeNode& node, int32_t at) {
  bool open = llvm::any_of(node.edges, [](const Edge& e) { return !e.visited && !e.saturated; });
  bool results = llvm::any_of(node.edges, [](const Edge& e) { return e.visits > 0; });
  return open && (!results || at == 0 || draw() < 0.5);
}

/// Returns the best child by UCB1 among those that changed something, or -1.
int32_t Search::best_by_bound(const TreeNode& node) const {
  int32_t best = -1;
  double most = 0;
  for (size_t i = 0; i < node.edges.size(); ++i) {
    const Edge& e = node.edges[i];
    if (e.saturated || e.visits == 0 || e.child < 0) continue;
    double bound = ucb1(e.returns / e.visits, e.visits, node.visits, options_.exploration);
    if (best < 0 || bound > most) best = static_cast<int32_t>(i), most = bound;
  }
  return best;
}

/// Applies a random action that was not tried here and returns the new node. The e-graph is then in
/// its state.
int32_t Search::expand(int32_t at) {
  std::vector<int32_t> open;
  for (size_t i = 0; i < actions(); ++i)
    if (!tree_[at].edges[i].visited && !tree_[at].edges[i].saturated)
      open.push_back(static_cast<int32_t>(i));
  int32_t action = open[rng_() % open.size()];
  path_.push_back({at, action});
  Checkpoint before = egraph_.checkpoint();
  uint32_t mark = egraph_.change_mark();
  Explorer::Step done = step(static_cast<size_t>(action));
  double cost = done.applied > 0 ? price_now() : tree_[at].cost;
  TreeNode made = new_node(cost);
  made.applied = done.applied;
  price_.forget(egraph_.changes_since(mark));
  made.change = egraph_.take_back(before);
  tree_bytes_ += bytes_of(made);
  [[maybe_unused]] bool again = egraph_.redo(made.change);
  assert(again);
  explorer_.moved();
  int32_t child = static_cast<int32_t>(tree_.size());
  Edge& edge = tree_[at].edges[action];
  edge.visited = true;
  edge.child = child;
  edge.saturated = done.applied == 0;
  edge.reward = std::max(tree_[at].cost - cost, 0.0) / 1000;
  tree_.push_back(std::move(made));
  return child;
}

/// Applies random rules from the current state. Returns the discounted sum of their cost reductions
/// in milliseconds.
double Search::roll_out(double cost) {
  double value = 0, weight = 1;
  size_t without_effect = 0;
  for (int i = 0; i <= options_.depth; ++i) {
    if (explorer_.full() || without_effect == actions() || limited()) break;
    Explorer::Step done = step(rng_() % actions());
    without_effect = done.applied == 0 ? without_effect + 1 : 0;
    if (done.applied > 0) {
      double now = price_now();
      value += weight * std::max(cost - now, 0.0) / 1000;
      cost = now;
    }
    weight *= options_.discount;
  }
  return value;
}

void Search::back_up(double value) {
  for (size_t i = path_.size(); i-- > 0;) {
    Edge& edge = tree_[path_[i].node].edges[path_[i].action];
    value = edge.reward + options_.discount * value;
    ++edge.visits;
    edge.returns += value;
  }
}

int32_t Search::best_by_mean(const TreeNode& node) const {
  int32_t best = -1;
  double most = 0;
  for (size_t i = 0; i < node.edges.size(); ++i) {
    const Edge& e = node.edges[i];
    if (e.saturated || e.visits == 0) continue;
    double mean = e.returns / e.visits;
    if (best < 0 || mean > most) best = static_cast<int32_t>(i), most = mean;
  }
  return best;
}

void Search::commit(int32_t action) {
  int32_t child = tree_.front().edges[action].child;
  if (options_.trace)
    options_.trace->apply(explorer_.rules()[action]->id, tree_[child].applied),
        ++options_.trace->columns;
  [[maybe_unused]] bool done = egraph_.redo(tree_[child].change);
  assert(done);
  egraph_.release(root_);
  explorer_.rebuild();
  without_effect_ = tree_[child].applied == 0 ? without_effect_ + 1 : 0;
  if (options_.reuse_tree) return keep_subtree(child);
  double cost = tree_[child].cost;
  tree_.clear();
  tree_bytes_ = 0;
  tree_.push_back(new_node(cost));
}

/// Makes the child the root and deletes all nodes outside its subtree.
void Search::keep_subtree(int32_t root) {
  std::vector<TreeNode> kept;
  std::vector<int32_t> worklist{root};
  for (size_t i = 0; i < worklist.size(); ++i) {
    kept.push_back(std::move(tree_[worklist[i]]));
    for (Edge& edge : kept.back().edges) {
      if (edge.child < 0) continue;
      worklist.push_back(edge.child);
      edge.child = static_cast<int32_t>(worklist.size()) - 1;
    }
  }
  tree_ = std::move(kept);
  tree_bytes_ = 0;
  for (const TreeNode& node : tree_) tree_bytes_ += bytes_of(node);
}

// --- steps --------------------------------------------------------------------------------------

Explorer::Step Search::step(size_t action) {
  const CompiledRule& rule = *explorer_.rules()[action];
  Explorer::Step done = explorer_.apply_everywhere(rule);
  RuleStats& stats = report_.rules[rule.id];
  stats.matches += done.matches;
  stats.applied += done.applied;
  stats.cyclic += done.cyclic;
  ++report_.steps;
  report_.memory_bytes = std::max(report_.memory_bytes,
                                  egraph_.memory_bytes() + explorer_.memory_bytes() + tree_bytes_);
  return done;
}

double Search::price_now() {
  double before = elapsed();
  double cost = price_.price(egraph_);
  report_.pricing_s += elapsed() - before;
  ++report_.states_priced;
  return cost;
}

void Search::go_back(Checkpoint to) {
  price_.forget(egraph_.changes_since(root_mark_));
  egraph_.rollback(to);
  explorer_.moved();
}

bool Search::limited() {
  std::optional<StopReason> reason = options_.reached(elapsed(), report_.memory_bytes);
  if (reason) report_.stop = *reason;
  return reason.has_value();
}

/// Adds the tree to the trace breadth-first, at most kMostTreeNodes nodes.
void Search::note_tree() {
  std::vector<SearchTrace::TreeNode>& out = options_.trace->tree;
  std::vector<std::pair<int32_t, int32_t>> worklist{{0, -1}}; // node, its number in the trace
  int32_t chosen = best_by_mean(tree_.front());
  out.push_back(
      {-1, kSourceRule, 0, tree_.front().visits, 0, tree_.front().cost, node_count(egraph_), true});
  worklist[0].second = static_cast<int32_t>(out.size()) - 1;
  for (size_t i = 0; i < worklist.size() && out.size() < SearchTrace::kMostTreeNodes; ++i)
    for (size_t a = 0; a < actions(); ++a) {
      const Edge& e = tree_[worklist[i].first].edges[a];
      if (e.child < 0 || e.visits == 0 || e.saturated) continue;
      const TreeNode& child = tree_[e.child];
      out.push_back({worklist[i].second, explorer_.rules()[a]->id,
                     static_cast<uint32_t>(child.applied), e.visits, e.returns / e.visits,
                     child.cost, child.change.result_counters.live_nodes,
                     i == 0 && static_cast<int32_t>(a) == chosen});
      worklist.push_back({e.child, static_cast<int32_t>(out.size()) - 1});
    }
}

} // namespace

double ucb1(double mean, uint32_t visits, uint32_t parent_visits, double c) {
  return mean + c * std::sqrt(2 * std::log(static_cast<double>(parent_visits)) / visits);
}

Pact24Report search_pact24(EGraph& egraph, llvm::ArrayRef<Rule> rules, const Pact24Options& options,
                           StatePrice& price) {
  return Search(egraph, rules, options, price).run();
}

} // namespace tg::paper
