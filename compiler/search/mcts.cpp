#include "compiler/search/mcts.h"

#include "compiler/search/incumbent.h"
#include "compiler/search/published_costs.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <random>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

/// Relative: less is rounding.
constexpr double kLeastGain = 1e-9;
/// Single matches of a rule that are offered at a node; the others have their turn in rollouts.
constexpr size_t kMostSingles = 8;

struct Action {
  RuleId rule{};
  Grain grain{};
  std::vector<uint32_t> matches; // places in the pool
};

struct Stats {
  uint32_t visits = 0;
  double total = 0; // of gains
};

struct Edge {
  uint32_t action = 0; // in the node's actions
  int32_t child = -1;
};

struct TreeNode {
  int32_t parent = -1;
  Delta change;                // from its parent
  std::vector<uint32_t> spent; // places in the pool that its action used
  std::vector<Match> found;    // what its change made possible
  Incumbent::State incumbent;
  std::vector<Action> actions; // in the order of their turns; made at the first visit
  std::vector<Edge> edges;     // of the first of them
  bool listed = false;         // actions are made
  size_t next_action = 0;
  uint32_t stats = 0;
  uint32_t depth = 0;
  double best = kInfiniteCost; // least cost below
  RuleId rule = kSourceRule;
  uint32_t places = 0;
};

class TreeSearch {
public:
  TreeSearch(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
             const MctsOptions& options, Policy& policy)
      : egraph_(egraph), source_(source), options_(options), policy_(policy),
        explorer_(egraph, rules, options.explore), incumbent_(egraph, prices), open_(rules.size()),
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
  void list_actions(TreeNode& node);
  void offer(RuleId rule, std::vector<Action>& actions);
  void order(TreeNode& node);
  size_t allowed(const TreeNode& node) const;
  int32_t select(const TreeNode& node) const;
  void roll_out(uint32_t depth);
  bool draw_action(uint32_t depth, Action& action);
  size_t act(const Action& action, uint32_t depth);
  void back_up();
  int32_t choose() const;
  void commit(int32_t child);
  void drop_siblings(int32_t root);
  uint32_t stats_of_state();
  void collect_open();
  void see(double cost);
  void go_back();
  bool limited();
  void note(const char* where);
  void note_tree(int32_t chosen);
  ActionFeatures features(RuleId rule, Grain grain, size_t places) const;
  StateFeatures state(uint32_t depth) const;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double draw() { return std::uniform_real_distribution<double>(0, 1)(rng_); }

  EGraph& egraph_;
  const Graph& source_;
  const MctsOptions& options_;
  Policy& policy_;
  Explorer explorer_;
  Incumbent incumbent_;
  std::deque<TreeNode> tree_; // the root first; references stay good
  std::vector<Stats> stats_;
  llvm::DenseMap<uint64_t, uint32_t> seen_; // fingerprint to stats
  llvm::DenseSet<uint64_t> refused_;        // groups of matches
  // Of the simulation under way.
  std::vector<int32_t> path_;
  std::vector<const Match*> pool_; // matches found on the way, in the order of finding
  std::vector<bool> spent_;
  std::deque<std::vector<Match>> rolled_; // matches that the rollout found
  std::vector<std::vector<uint32_t>>
      open_;         // by rule: places in the pool, neither spent nor refused
  double least_ = 0; // cost
  size_t last_applied_ = 0;

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
  report_.seconds = elapsed();
  return std::move(report_);
}

void TreeSearch::start() {
  explorer_.settle();
  incumbent_.prices().announce();
  report_.start_cost = report_.best_cost = incumbent_.update();
  TreeNode& root = tree_.emplace_back();
  root.incumbent = incumbent_.save();
  explorer_.find_new(0, root.found);
  root.stats = stats_of_state();
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
  int32_t child = choose();
  if (options_.trace) note_tree(child);
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
  spent_.clear();
  rolled_.clear();
  least_ = kInfiniteCost;
  enter(0);
  for (;;) {
    int32_t at = path_.back();
    TreeNode& node = tree_[at];
    if (explorer_.full()) break;
    if (!node.listed) list_actions(node);
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
  TreeNode& node = tree_[at];
  path_.push_back(at);
  for (const Match& match : node.found) pool_.push_back(&match);
  spent_.resize(pool_.size());
  for (uint32_t place : node.spent) spent_[place] = true;
  least_ = std::min(least_, node.incumbent.cost);
}

// --- actions ------------------------------------------------------------------------------------

void TreeSearch::collect_open() {
  for (auto& list : open_) list.clear();
  for (uint32_t i = 0; i < pool_.size(); ++i)
    if (!spent_[i] && !refused_.contains(pool_[i]->group)) open_[pool_[i]->rule].push_back(i);
}

void TreeSearch::list_actions(TreeNode& node) {
  node.listed = true;
  collect_open();
  for (RuleId rule = 0; rule < open_.size(); ++rule)
    if (!open_[rule].empty()) offer(rule, node.actions);
  order(node);
}

/// The rule everywhere; and, if they are fewer, each kind of place, and some places alone.
void TreeSearch::offer(RuleId rule, std::vector<Action>& actions) {
  const std::vector<uint32_t>& open = open_[rule];
  actions.push_back({rule, Grain::Rule, open});
  if (!options_.widen || open.size() == 1) return;
  std::map<uint64_t, std::vector<uint32_t>> groups;
  for (uint32_t place : open) groups[pool_[place]->group].push_back(place);
  if (groups.size() > 1)
    for (uint32_t place : open) { // in the order of their first places
      auto group = groups.find(pool_[place]->group);
      if (group->second.size() < 2 || group->second.front() != place) continue;
      actions.push_back({rule, Grain::Group, group->second});
    }
  for (size_t i = 0; i < std::min(open.size(), kMostSingles); ++i)
    actions.push_back(
        {rule, Grain::Match, {open[open.size() <= kMostSingles ? i : rng_() % open.size()]}});
}

/// Draws the order of their turns, heavier ones sooner (Efraimidis and Spirakis 2006).
void TreeSearch::order(TreeNode& node) {
  std::vector<ActionFeatures> all;
  for (const Action& a : node.actions) all.push_back(features(a.rule, a.grain, a.matches.size()));
  std::vector<double> weights(all.size(), 1);
  policy_.weigh(state(node.depth), all, weights);
  std::vector<std::pair<double, uint32_t>> keys;
  for (uint32_t i = 0; i < all.size(); ++i) {
    double grain = all[i].grain == Grain::Rule ? 1 : all[i].grain == Grain::Group ? 0.7 : 0.2;
    keys.push_back({std::log(draw() + 1e-300) / (weights[i] * grain), i});
  }
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<Action> sorted;
  for (auto [key, i] : keys) sorted.push_back(std::move(node.actions[i]));
  node.actions = std::move(sorted);
}

size_t TreeSearch::allowed(const TreeNode& node) const {
  if (node.next_action >= node.actions.size()) return 0;
  if (!options_.widen) return SIZE_MAX;
  return 2 + static_cast<size_t>(1.5 * std::sqrt(stats_[node.stats].visits));
}

ActionFeatures TreeSearch::features(RuleId rule, Grain grain, size_t places) const {
  const CompiledRule& compiled = explorer_.rule(rule);
  ActionFeatures out;
  out.rule = compiled.rule;
  out.rule_number = rule;
  out.grain = grain;
  out.places = static_cast<uint32_t>(places);
  for (const Term& term : compiled.rule->terms) out.operators_before += term.kind == Term::Kind::Op;
  out.operators_after = static_cast<uint32_t>(compiled.plan.size());
  out.operators_before -= std::min(out.operators_before, out.operators_after);
  return out;
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
  for (uint32_t place : action.matches) {
    if (explorer_.full()) break;
    spent_[place] = true;
    Outcome outcome = explorer_.apply(*pool_[place]);
    if (outcome == Outcome::Refused) refused_.insert(pool_[place]->group);
    applied += outcome == Outcome::Applied;
    stats.cyclic += outcome == Outcome::Cyclic;
  }
  stats.matches += action.matches.size();
  stats.applied += applied;
  explorer_.settle();
  if (applied == 0) return 0;
  ++report_.steps;
  double after = incumbent_.update(), gain = std::max(1 - after / before, 0.0);
  policy_.learn(state(depth), features(action.rule, action.grain, applied), gain);
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
  while (tree_[at].next_action < tree_[at].actions.size()) {
    TreeNode& node = tree_[at];
    uint32_t number = static_cast<uint32_t>(node.next_action++);
    const Action& action = node.actions[number];
    Checkpoint before = egraph_.checkpoint();
    uint32_t mark = egraph_.change_mark();
    size_t applied = act(action, node.depth);
    if (applied == 0) {
      egraph_.rollback(before);
      egraph_.release(before);
      explorer_.moved();
      continue;
    }
    TreeNode& made = tree_.emplace_back();
    made.parent = at, made.depth = node.depth + 1;
    made.rule = action.rule, made.places = static_cast<uint32_t>(applied);
    made.spent = action.matches;
    made.incumbent = incumbent_.save();
    explorer_.find_new(mark, made.found);
    made.stats = stats_of_state();
    made.change = egraph_.take_back(before);
    [[maybe_unused]] bool again = egraph_.redo(made.change);
    assert(again && "taken back just now");
    explorer_.moved();
    int32_t child = static_cast<int32_t>(tree_.size()) - 1;
    node.edges.push_back({number, child});
    enter(child);
    return true;
  }
  return false;
}

uint32_t TreeSearch::stats_of_state() {
  uint32_t fresh = static_cast<uint32_t>(stats_.size());
  if (options_.transpose) {
    auto [entry, is_new] = seen_.try_emplace(fingerprint(egraph_) >> 2, fresh);
    if (!is_new) {
      ++report_.transpositions;
      return entry->second;
    }
  }
  stats_.emplace_back();
  return fresh;
}

/// The child with the highest bound on its gain; -1 if there is none.
int32_t TreeSearch::select(const TreeNode& node) const {
  int32_t best = -1;
  double most = 0;
  // Published: milliseconds against a constant of two.
  double scale = options_.normalise ? 1 / std::max(most_gain_, 1e-12) : report_.start_cost / 1000;
  double c = options_.normalise ? options_.exploration : 2;
  double visits = stats_[node.stats].visits + 1.0;
  for (const Edge& edge : node.edges) {
    const Stats& stats = stats_[tree_[edge.child].stats];
    double n = std::max(stats.visits, 1u);
    double bound = stats.total / n * scale + c * std::sqrt(2 * std::log(visits) / n);
    if (best < 0 || bound > most) best = edge.child, most = bound;
  }
  return best;
}

void TreeSearch::roll_out(uint32_t depth) {
  collect_open();
  for (int i = 0; i < options_.depth && !explorer_.full() && !limited(); ++i) {
    Action action;
    if (!draw_action(depth, action)) {
      if (options_.firing) break;
      continue;
    }
    uint32_t mark = egraph_.change_mark();
    size_t applied = act(action, depth++);
    llvm::erase_if(open_[action.rule], [&](uint32_t place) { return spent_[place]; });
    if (applied == 0) {
      if (options_.firing) --i; // nothing happened: the pool is smaller, so this ends
      continue;
    }
    std::vector<Match>& found = rolled_.emplace_back();
    explorer_.find_new(mark, found);
    for (const Match& match : found) {
      if (!refused_.contains(match.group))
        open_[match.rule].push_back(static_cast<uint32_t>(pool_.size()));
      pool_.push_back(&match);
    }
    spent_.resize(pool_.size());
  }
}

/// A random rule with matches by weight, at a random grain. False if nothing fires.
bool TreeSearch::draw_action(uint32_t depth, Action& action) {
  std::vector<ActionFeatures> all;
  for (RuleId rule = 0; rule < open_.size(); ++rule)
    if (!open_[rule].empty() || (!options_.firing && explorer_.enabled(rule)))
      all.push_back(features(rule, Grain::Rule, open_[rule].size()));
  if (all.empty()) return false;
  std::vector<double> weights(all.size(), 1);
  policy_.weigh(state(depth), all, weights);
  double sum = 0, at = 0;
  for (double weight : weights) sum += weight;
  double target = draw() * sum;
  size_t pick = 0;
  while (pick + 1 < all.size() && (at += weights[pick]) <= target) ++pick;
  action.rule = static_cast<RuleId>(all[pick].rule_number);
  const std::vector<uint32_t>& open = open_[action.rule];
  if (open.empty()) return false;
  action.grain = options_.widen ? static_cast<Grain>(rng_() % 3) : Grain::Rule;
  if (action.grain == Grain::Rule) {
    action.matches = open;
    return true;
  }
  uint32_t one = open[rng_() % open.size()];
  for (uint32_t place : open)
    if (place == one || (action.grain == Grain::Group && pool_[place]->group == pool_[one]->group))
      action.matches.push_back(place);
  return true;
}

void TreeSearch::back_up() {
  double gain = std::max(1 - least_ / report_.start_cost, 0.0);
  most_gain_ = std::max(most_gain_, gain);
  for (int32_t at : path_) {
    TreeNode& node = tree_[at];
    node.best = std::min(node.best, least_);
    ++stats_[node.stats].visits;
    stats_[node.stats].total += gain;
  }
}

void TreeSearch::go_back() {
  incumbent_.prices().forget(egraph_.changes_since(root_mark_));
  report_.memory_bytes =
      std::max(report_.memory_bytes,
               egraph_.memory_bytes() + explorer_.memory_bytes() + incumbent_.memory_bytes());
  egraph_.rollback(root_);
  explorer_.moved();
  incumbent_.restore(tree_.front().incumbent);
}

// --- decisions ----------------------------------------------------------------------------------

/// Towards the best state found below the root; among equals the most visited.
int32_t TreeSearch::choose() const {
  int32_t best = -1;
  for (const Edge& edge : tree_.front().edges) {
    if (best < 0) {
      best = edge.child;
      continue;
    }
    const TreeNode &a = tree_[edge.child], &b = tree_[best];
    if (a.best < b.best * (1 - kLeastGain) ||
        (a.best <= b.best && stats_[a.stats].visits > stats_[b.stats].visits))
      best = edge.child;
  }
  return best;
}

void TreeSearch::commit(int32_t child) {
  TreeNode& node = tree_[child];
  if (options_.trace) options_.trace->apply(node.rule, node.places), ++options_.trace->columns;
  [[maybe_unused]] bool done = egraph_.redo(node.change);
  assert(done);
  egraph_.release(root_);
  explorer_.settle();
  TreeNode& root = tree_.front();
  // The pool goes on where it was: places in it are numbers in this order.
  std::vector<Match> found = std::move(root.found);
  found.insert(found.end(), std::make_move_iterator(node.found.begin()),
               std::make_move_iterator(node.found.end()));
  node.found = std::move(found);
  node.spent.insert(node.spent.end(), root.spent.begin(), root.spent.end());
  incumbent_.restore(node.incumbent);
  incumbent_.update();
  drop_siblings(child);
}

/// What is below the node stays (or, unless the tree is reused, the node alone).
void TreeSearch::drop_siblings(int32_t root) {
  std::deque<TreeNode> kept;
  std::vector<int32_t> todo{root};
  for (size_t i = 0; i < todo.size(); ++i) {
    TreeNode& node = kept.emplace_back(std::move(tree_[todo[i]]));
    if (!options_.reuse_tree) {
      node.edges.clear(), node.actions.clear();
      node.next_action = 0, node.listed = false;
    }
    for (Edge& edge : node.edges) {
      todo.push_back(edge.child);
      edge.child = static_cast<int32_t>(todo.size()) - 1;
    }
  }
  tree_ = std::move(kept);
  tree_.front().change = {};
}

bool TreeSearch::limited() {
  if (options_.cancel && options_.cancel->load(std::memory_order_relaxed))
    report_.stop = StopReason::Cancelled;
  else if (elapsed() >= options_.time_limit_s)
    report_.stop = StopReason::Time;
  else if (report_.memory_bytes >= options_.memory_limit_mb << 20)
    report_.stop = StopReason::Memory;
  else
    return false;
  return true;
}

void TreeSearch::note(const char* where) {
  if (options_.trace)
    options_.trace->points.push_back(
        {elapsed(), report_.best_cost, report_.simulations, egraph_.node_count(), where});
}

void TreeSearch::note_tree(int32_t chosen) {
  std::vector<SearchTrace::TreeNode>& out = options_.trace->tree;
  struct Item {
    int32_t node, number;
  };
  std::vector<Item> todo;
  auto add = [&](int32_t at, int32_t parent) {
    const TreeNode& node = tree_[at];
    const Stats& stats = stats_[node.stats];
    out.push_back({parent, node.rule, node.places, stats.visits,
                   stats.visits ? stats.total / stats.visits : 0, node.incumbent.cost,
                   node.change.result_counters.live_nodes, at == 0 || at == chosen});
    todo.push_back({at, static_cast<int32_t>(out.size()) - 1});
  };
  if (out.size() < SearchTrace::kMostTreeNodes) add(0, -1);
  for (size_t i = 0; i < todo.size() && out.size() < SearchTrace::kMostTreeNodes; ++i) {
    Item item = todo[i];
    for (const Edge& edge : tree_[item.node].edges) add(edge.child, item.number);
  }
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
