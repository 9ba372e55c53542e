#include "compiler/search/mcts.h"

#include "compiler/search/incumbent.h"
#include "compiler/search/limits.h"
#include "compiler/search/published_costs.h"
#include "compiler/search/search_tree.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <map>
#include <random>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

/// Relative: less is rounding.
constexpr double kLeastGain = 1e-9;

class TreeSearch {
public:
  TreeSearch(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
             const MctsOptions& options, Policy& policy)
      : egraph_(egraph), source_(source), options_(options), policy_(policy),
        explorer_(egraph, rules, options.explore), incumbent_(egraph, prices),
        tree_(options.transpose), pool_(explorer_, rules.size(), {options.widen, options.firing}),
        rng_(options.seed) {
    report_.rules.resize(rules.size());
    report_.records.resize(rules.size());
  }

  MctsReport run();

private:
  void start();
  bool decide();
  void simulate();
  void enter(int32_t at);
  bool expand(int32_t at);
  void grow(int32_t parent, uint32_t number, size_t applied, Checkpoint before, uint32_t mark);
  size_t allowed(const SearchTree::Node& node) const;
  int32_t select(const SearchTree::Node& node) const;
  void roll_out(uint32_t depth);
  size_t act(const Action& action, uint32_t depth);
  void back_up();
  void commit(int32_t child);
  void see(double cost);
  void go_back();
  bool limited();
  void note(const char* where);
  StateFeatures state(uint32_t depth) const;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  EGraph& egraph_;
  const Graph& source_;
  const MctsOptions& options_;
  Policy& policy_;
  Explorer explorer_;
  Incumbent incumbent_;
  SearchTree tree_;
  ActionPool pool_;
  // Of the simulation under way.
  std::vector<int32_t> path_;
  double least_ = 0; // cost

  Checkpoint root_;
  uint32_t root_mark_ = 0;
  size_t since_gain_ = 0; // simulations
  double most_gain_ = 0;
  std::mt19937_64 rng_;
  MctsReport report_;
  Clock::time_point start_ = Clock::now();
};

// --- the whole ----------------------------------------------------------------------------------

MctsReport TreeSearch::run() {
  start();
  int without_gain = 0;
  report_.stop = StopReason::Saturated;
  while (!limited()) {
    double before = report_.best_cost;
    if (!decide()) break;
    without_gain = report_.best_cost < before * (1 - kLeastGain) ? 0 : without_gain + 1;
    if (explorer_.full()) {
      report_.stop = StopReason::Nodes;
      break;
    }
    if (without_gain >= options_.patience) {
      report_.stop = StopReason::Iterations;
      break;
    }
  }
  report_.nodes = egraph_.node_count();
  report_.classes = egraph_.class_count();
  report_.transpositions = tree_.transpositions();
  report_.seconds = elapsed();
  return std::move(report_);
}

void TreeSearch::start() {
  explorer_.settle();
  incumbent_.prices().announce();
  report_.start_cost = report_.best_cost = incumbent_.update();
  SearchTree::Node& root = tree_.add();
  root.incumbent = incumbent_.save();
  explorer_.find_new(0, root.found);
  root.stats = tree_.stats_of(egraph_);
  note("start");
}

/// Simulations from the root, then one action for good. False if there is nothing to do.
bool TreeSearch::decide() {
  root_ = egraph_.checkpoint();
  root_mark_ = egraph_.change_mark();
  since_gain_ = 0;
  for (int i = 0; i < options_.budget && !limited(); ++i) {
    simulate();
    if (++since_gain_ > static_cast<size_t>(options_.simulation_patience)) break;
  }
  int32_t child = tree_.best_child();
  if (options_.trace) tree_.note(child, *options_.trace);
  if (child < 0) {
    egraph_.release(root_);
    return false;
  }
  commit(child);
  ++report_.decisions;
  return true;
}

void TreeSearch::simulate() {
  path_.clear();
  pool_.clear();
  least_ = kInfiniteCost;
  enter(0);
  for (;;) {
    int32_t at = path_.back();
    SearchTree::Node& node = tree_[at];
    if (explorer_.full()) break;
    if (!node.listed) {
      pool_.collect();
      node.actions = pool_.list(state(node.depth), policy_, rng_);
      node.listed = true;
    }
    if (node.edges.size() < allowed(node) && expand(at)) break;
    int32_t child = select(node);
    if (child < 0) break;
    egraph_.checkpoint();
    [[maybe_unused]] bool done = egraph_.redo(tree_[child].change);
    assert(done && "the e-graph is in the state of the parent");
    explorer_.moved();
    enter(child);
    incumbent_.restore(tree_[child].incumbent);
  }
  roll_out(tree_[path_.back()].depth);
  back_up();
  go_back();
  ++report_.simulations;
}

/// The node is on the path now: its matches join the pool.
void TreeSearch::enter(int32_t at) {
  SearchTree::Node& node = tree_[at];
  path_.push_back(at);
  pool_.add(node.found);
  for (uint32_t number : node.spent) pool_.spend(number);
  least_ = std::min(least_, node.incumbent.cost);
}

// --- actions ------------------------------------------------------------------------------------

size_t TreeSearch::allowed(const SearchTree::Node& node) const {
  if (node.next_action >= node.actions.size()) return 0;
  if (!options_.widen) return SIZE_MAX;
  return 2 + static_cast<size_t>(1.5 * std::sqrt(tree_.stats(node).visits));
}

StateFeatures TreeSearch::state(uint32_t depth) const {
  return {egraph_.node_count(), egraph_.class_count(), options_.explore.node_limit,
          incumbent_.cost(),    report_.start_cost,    depth};
}

/// Applies the matches and prices the state. How many changed something.
size_t TreeSearch::act(const Action& action, uint32_t depth) {
  RuleStats& stats = report_.rules[action.rule];
  double before = incumbent_.cost();
  size_t applied = 0;
  for (uint32_t number : action.matches) {
    if (explorer_.full()) break;
    pool_.spend(number);
    Outcome outcome = explorer_.apply(pool_.match(number));
    if (outcome == Outcome::Refused) pool_.refuse(number);
    applied += outcome == Outcome::Applied;
    stats.cyclic += outcome == Outcome::Cyclic;
  }
  stats.matches += action.matches.size();
  stats.applied += applied;
  explorer_.settle();
  if (applied == 0) return 0;
  ++report_.steps;
  double after = incumbent_.update(), gain = std::max(1 - after / before, 0.0);
  policy_.learn(state(depth), pool_.features(action.rule, action.grain, applied), gain);
  RuleRecord& record = report_.records[action.rule];
  record.tried += 1, record.paid += gain > kLeastGain, record.gain += gain;
  see(after);
  report_.most_nodes = std::max(report_.most_nodes, egraph_.node_count());
  return applied;
}

/// A state's cost; if it is the best so far its graph is kept.
void TreeSearch::see(double cost) {
  least_ = std::min(least_, cost);
  if (!(cost < report_.best_cost * (1 - kLeastGain))) return;
  report_.best_cost = cost;
  since_gain_ = 0;
  std::vector<ENodeId> nodes = incumbent_.used_nodes();
  report_.best.emplace(Found{graph_of(egraph_, source_, nodes), cost, rules_behind(egraph_, nodes),
                             told_by(egraph_)});
  note("");
}

// --- down and up --------------------------------------------------------------------------------

/// The next action that changes something becomes a new node, which is entered. False if none does.
bool TreeSearch::expand(int32_t at) {
  SearchTree::Node& node = tree_[at];
  while (node.next_action < node.actions.size()) {
    uint32_t number = static_cast<uint32_t>(node.next_action++);
    Checkpoint before = egraph_.checkpoint();
    uint32_t mark = egraph_.change_mark();
    size_t applied = act(node.actions[number], node.depth);
    if (applied > 0) {
      grow(at, number, applied, before, mark);
      return true;
    }
    egraph_.rollback(before);
    egraph_.release(before);
    explorer_.moved();
  }
  return false;
}

/// The state that an action has just led to becomes a node of the tree.
void TreeSearch::grow(int32_t parent, uint32_t number, size_t applied, Checkpoint before,
                      uint32_t mark) {
  SearchTree::Node &node = tree_[parent], &made = tree_.add();
  const Action& action = node.actions[number];
  made.parent = parent, made.depth = node.depth + 1;
  made.rule = action.rule, made.places = static_cast<uint32_t>(applied);
  if (options_.trace) made.where = pool_.place_text(action);
  made.spent = action.matches;
  made.incumbent = incumbent_.save();
  explorer_.find_new(mark, made.found);
  made.stats = tree_.stats_of(egraph_);
  made.change = egraph_.take_back(before);
  [[maybe_unused]] bool again = egraph_.redo(made.change);
  assert(again && "taken back just now");
  explorer_.moved();
  tree_.weigh(made);
  node.edges.push_back({number, tree_.last()});
  enter(tree_.last());
}

/// The child to go on with; -1 if there is none.
int32_t TreeSearch::select(const SearchTree::Node& node) const {
  if (options_.normalise)
    return tree_.highest_bound(node, 1 / std::max(most_gain_, 1e-12), options_.exploration);
  // Published: milliseconds against a constant of two.
  return tree_.highest_bound(node, report_.start_cost / 1000, 2);
}

void TreeSearch::roll_out(uint32_t depth) {
  pool_.collect();
  for (int i = 0; i < options_.depth && !explorer_.full() && !limited(); ++i) {
    Action action;
    if (!pool_.draw(state(depth), policy_, rng_, action)) {
      if (options_.firing) break;
      continue;
    }
    uint32_t mark = egraph_.change_mark();
    size_t applied = act(action, depth++);
    pool_.forget_spent(action.rule);
    if (applied == 0) {
      if (options_.firing) --i; // nothing happened: the pool is smaller, so this ends
      continue;
    }
    std::vector<Match> found;
    explorer_.find_new(mark, found);
    pool_.add_open(std::move(found));
  }
}

void TreeSearch::back_up() {
  double gain = std::max(1 - least_ / report_.start_cost, 0.0);
  most_gain_ = std::max(most_gain_, gain);
  for (int32_t at : path_) tree_.count(at, gain, least_);
}

void TreeSearch::go_back() {
  incumbent_.prices().forget(egraph_.changes_since(root_mark_));
  report_.memory_bytes =
      std::max(report_.memory_bytes, egraph_.memory_bytes() + explorer_.memory_bytes() +
                                         incumbent_.memory_bytes() + tree_.memory_bytes());
  egraph_.rollback(root_);
  explorer_.moved();
  incumbent_.restore(tree_.root().incumbent);
}

// --- decisions ----------------------------------------------------------------------------------

void TreeSearch::commit(int32_t child) {
  SearchTree::Node& node = tree_[child];
  if (options_.trace)
    options_.trace->apply(node.rule, node.places, node.where), ++options_.trace->columns;
  [[maybe_unused]] bool done = egraph_.redo(node.change);
  assert(done);
  egraph_.release(root_);
  explorer_.settle();
  SearchTree::Node& root = tree_.root();
  // The pool goes on where it was: places in it are numbers in this order.
  std::vector<Match> found = std::move(root.found);
  found.insert(found.end(), std::make_move_iterator(node.found.begin()),
               std::make_move_iterator(node.found.end()));
  node.found = std::move(found);
  node.spent.insert(node.spent.end(), root.spent.begin(), root.spent.end());
  incumbent_.restore(node.incumbent);
  incumbent_.update();
  tree_.reroot(child, options_.reuse_tree);
}

bool TreeSearch::limited() {
  std::optional<StopReason> reason =
      limit_reached({options_.cancel, options_.time_limit_s, options_.memory_limit_mb}, elapsed(),
                    report_.memory_bytes);
  if (reason) report_.stop = *reason;
  return reason.has_value();
}

void TreeSearch::note(const char* where) {
  if (options_.trace)
    options_.trace->points.push_back(
        {elapsed(), report_.best_cost, report_.simulations, egraph_.node_count(), where});
}

} // namespace

MctsReport search_mcts(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                       PriceCache& prices, const MctsOptions& options, Policy& policy) {
  return TreeSearch(egraph, source, rules, prices, options, policy).run();
}

std::shared_ptr<const History> told_by(const EGraph& egraph) {
  return egraph.recording() ? std::make_shared<const History>(history_of(egraph)) : nullptr;
}

std::vector<std::pair<RuleId, size_t>> rules_behind(const EGraph& egraph,
                                                    llvm::ArrayRef<ENodeId> nodes) {
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
  std::map<RuleId, size_t> counts;
  for (ENodeId id : nodes) {
    const ENode& node = egraph.node(id);
    if (node.rule < kCongruence && seen.insert({node.rule, node.origin.index}).second)
      ++counts[node.rule];
  }
  return {counts.begin(), counts.end()};
}

} // namespace tg
