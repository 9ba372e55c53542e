#include "compiler/search/mcts/mcts.h"

#include "compiler/search/chosen_graph.h"
#include "compiler/search/limits.h"
#include "compiler/search/mcts/board.h"
#include "compiler/search/mcts/halving.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace tg {

namespace {

/// A graph policy is queried again when the best graph's cost has fallen by this share.
constexpr double kOtherGraph = 0.05;

BoardOptions board_options(const MctsOptions& o) {
  return {o.explore, {o.widen, o.firing}, o.depth};
}

class TreeSearch {
public:
  TreeSearch(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
             const MctsOptions& options, Policy& policy)
      : egraph_(egraph), source_(source), rules_(rules), options_(options), policy_(policy),
        board_(egraph, rules, prices, board_options(options), refused_), rng_(options.seed) {
    report_.rules.resize(rules.size());
    report_.records.resize(rules.size());
  }

  MctsReport run();

private:
  void start();
  bool decide();
  void play(size_t count);
  void play_apart(llvm::MutableArrayRef<Simulation> simulations);
  void descend(Simulation& simulation);
  void list(int32_t at);
  Graph best_of(const SearchTree::Node& node);
  void restore_incumbent(const SearchTree::Node& node);
  void note_credit(const Simulation& simulation);
  void enter(int32_t at, Simulation& simulation);
  bool expand(Simulation& simulation);
  void grow(Simulation& simulation, uint32_t number, size_t applied, Checkpoint before,
            uint32_t mark);
  size_t allowed(const SearchTree::Node& node) const;
  int32_t select(const SearchTree::Node& node);
  void order_root();
  int32_t next_arm();
  void go_to(const Simulation& simulation);
  void roll_out(Simulation& simulation);
  void learn(const Simulation& simulation);
  void back_up(const Simulation& simulation);
  void commit(int32_t child);
  void see(double cost);
  void go_back();
  /// Returns true if the best cost is below the start cost by more than this share of it.
  bool gained_more_than(double share) const;
  /// Returns the number of simulations without a gain after which the next decision is made.
  size_t patience_now() const;
  bool limited();
  std::optional<StopReason> limit() const;
  void note(const char* where);
  void notify();
  double elapsed() const { return watch_.seconds(); }

  EGraph& egraph_;
  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  const MctsOptions& options_;
  Policy& policy_;
  ActionPool::Groups refused_; // groups of matches, permanently
  Board board_;
  SearchTree tree_;
  std::optional<Helpers> helpers_; // created on first use

  Checkpoint root_;
  uint32_t root_mark_ = 0;
  size_t since_gain_ = 0;                    // simulations since the last gain
  bool gained_ = false;                      // within this batch
  std::optional<SequentialHalving> halving_; // of this decision; its arms are the root's edges
  std::vector<double> root_scores_;          // by action of the root
  size_t reused_edges_ = 0;                  // root edges kept from the previous decision
  double gain_here_ = 0;                     // sum over the simulations of this decision
  size_t simulations_here_ = 0;
  std::vector<double> visits_, gains_; // by rule and grain; only with `decided`
  double most_gain_ = 0;
  double notified_s_ = -kBetweenNotificationsS;
  std::mt19937_64 rng_;
  MctsReport report_;
  Stopwatch watch_;
};

// --- the main loop ------------------------------------------------------------------------------

MctsReport TreeSearch::run() {
  start();
  int without_gain = 0;
  report_.stop = StopReason::Saturated;
  while (!limited()) {
    double before = report_.best_cost;
    if (report_.decisions >= options_.decisions) {
      report_.stop = StopReason::Iterations;
      break;
    }
    if (!decide()) break;
    without_gain = report_.best_cost < before * (1 - kLeastGain) ? 0 : without_gain + 1;
    if (board_.explorer.full()) {
      report_.stop = StopReason::Nodes;
      break;
    }
    if (without_gain >= (gained_more_than(0) ? options_.patience : 1)) {
      report_.stop = StopReason::Iterations;
      break;
    }
  }
  report_.nodes = node_count(egraph_);
  report_.classes = class_count(egraph_);
  report_.seconds = elapsed();
  return std::move(report_);
}

void TreeSearch::start() {
  board_.explorer.rebuild();
  report_.start_cost = report_.best_cost = board_.source_cost = board_.incumbent.update();
  SearchTree::Node& root = tree_.add();
  root.incumbent = board_.incumbent.save();
  board_.explorer.find_new(0, root.found);
  note("start");
}

bool TreeSearch::gained_more_than(double share) const {
  return report_.best_cost < report_.start_cost * (1 - std::max(share, kLeastGain));
}

size_t TreeSearch::patience_now() const {
  bool promising =
      report_.decisions < options_.promising_decisions && gained_more_than(options_.promising_gain);
  int patience = options_.simulation_patience;
  return static_cast<size_t>(promising ? std::max(patience, options_.promising_patience)
                                       : patience);
}

/// Runs simulations from the root, then commits one action. Returns false if no action is left.
bool TreeSearch::decide() {
  root_ = egraph_.checkpoint();
  root_mark_ = egraph_.change_mark();
  since_gain_ = 0;
  gain_here_ = 0, simulations_here_ = 0;
  halving_.reset();
  if (options_.decided) {
    visits_.assign(rules_.size() * kGrains, 0);
    gains_ = visits_;
  }
  size_t batch = static_cast<size_t>(std::max(options_.batch, 1));
  for (size_t left = static_cast<size_t>(std::max(options_.budget, 0)); left > 0 && !limited();) {
    size_t count = std::min(batch, left);
    left -= count;
    play(count);
    since_gain_ = (gained_ ? 0 : since_gain_) + count;
    if (since_gain_ >= patience_now()) break;
  }
  if (options_.decided)
    options_.decided({best_of(tree_.root()), tree_.root().incumbent.cost, std::move(visits_),
                      std::move(gains_)});
  int32_t child = tree_.best_child();
  if (options_.trace) tree_.note(child, node_count(egraph_), *options_.trace);
  if (child < 0) {
    egraph_.release(root_);
    return false;
  }
  commit(child);
  ++report_.decisions;
  return true;
}

// --- a batch ------------------------------------------------------------------------------------

/// Selects all leaves first, then plays on from them. Policy and refusals change only at the end.
void TreeSearch::play(size_t count) {
  gained_ = false;
  std::vector<Simulation> simulations(count);
  bool apart = options_.threads > 1 && options_.costs && count > 1;
  for (Simulation& simulation : simulations) {
    simulation.seed = options_.seed * 0x9E3779B97F4A7C15ull + report_.simulations +
                      static_cast<size_t>(&simulation - simulations.data());
    descend(simulation);
    if (count == 1) roll_out(simulation);
    go_back();
  }
  if (apart)
    play_apart(simulations);
  else if (count > 1)
    for (Simulation& simulation : simulations) {
      go_to(simulation);
      roll_out(simulation);
      go_back();
    }
  for (const Simulation& simulation : simulations) {
    learn(simulation);
    if (options_.decided) note_credit(simulation);
    back_up(simulation);
  }
  report_.simulations += count;
  if (options_.simulated) options_.simulated(report_.simulations, report_.best_cost);
  notify();
}

/// Plays on helpers. A simulation that improves on the best is replayed here, to keep its graph.
void TreeSearch::play_apart(llvm::MutableArrayRef<Simulation> simulations) {
  if (!helpers_)
    helpers_.emplace(options_.threads, egraph_, rules_, *options_.costs, board_options(options_),
                     refused_, board_.source_cost);
  std::vector<Simulation> descents(simulations.begin(), simulations.end());
  helpers_->play(tree_, simulations, policy_, [this] { return limit().has_value(); });
  report_.memory_bytes =
      std::max(report_.memory_bytes,
               board_.memory_bytes() + tree_.memory_bytes() + helpers_->memory_bytes());
  for (size_t i = 0; i < simulations.size(); ++i) {
    if (!(simulations[i].least < report_.best_cost * (1 - kLeastGain))) continue;
    [[maybe_unused]] double least = simulations[i].least;
    simulations[i] = std::move(descents[i]);
    go_to(simulations[i]);
    roll_out(simulations[i]);
    go_back();
    assert((simulations[i].least == least || limit()) && "all boards give equal costs");
  }
}

/// Descends from the root to a leaf, which is added to the tree if possible.
void TreeSearch::descend(Simulation& simulation) {
  board_.pool.clear();
  enter(0, simulation);
  for (;;) {
    SearchTree::Node& node = tree_[simulation.path.back()];
    if (board_.explorer.full()) break;
    if (!node.listed) list(simulation.path.back());
    if (options_.halving > 0 && !halving_) order_root(); // at the root
    if (node.edges.size() < allowed(node) && expand(simulation)) break;
    int32_t child = select(node);
    if (child < 0) break;
    egraph_.checkpoint();
    [[maybe_unused]] bool done = egraph_.redo(tree_[child].change);
    assert(done && "redo() requires the state of the parent");
    board_.explorer.moved();
    enter(child, simulation);
    restore_incumbent(tree_[child]);
  }
  simulation.refused = board_.pool.refused_here();
  for (int32_t at : simulation.path) tree_.visit(at);
}

/// Lists the actions of a node's state in the order in which they are to be tried. The policy's
/// opinion of a graph is kept until the best graph is clearly cheaper.
void TreeSearch::list(int32_t at) {
  SearchTree::Node& node = tree_[at];
  bool other = !node.assessment || node.incumbent.cost < node.opinion_us * (1 - kOtherGraph);
  if (policy_.assesses() && other) {
    node.assessment = policy_.assess(best_of(node), rules_);
    node.opinion_us = node.incumbent.cost;
  }
  board_.assessment = node.assessment.get();
  board_.pool.collect();
  node.actions = board_.pool.list(board_.state(node.depth), policy_, rng_);
  node.listed = true;
}

/// Returns the best graph of the node's state. The e-graph must be in that state.
Graph TreeSearch::best_of(const SearchTree::Node& node) {
  board_.incumbent.update(); // used nodes are not part of the saved state
  Graph graph = graph_of(egraph_, source_, board_.incumbent.used_nodes());
  board_.incumbent.restore(node.incumbent);
  return graph;
}

/// Restores the incumbent of a node. The e-graph must be in the node's state.
void TreeSearch::restore_incumbent(const SearchTree::Node& node) {
  board_.incumbent.restore(node.incumbent);
  board_.last = node.rule;
  board_.assessment = node.assessment.get();
}

/// Appends the node to the path and adds its matches to the pool.
void TreeSearch::enter(int32_t at, Simulation& simulation) {
  const SearchTree::Node& node = tree_[at];
  simulation.path.push_back(at);
  board_.pool.add(node.found);
  for (uint32_t number : node.spent) board_.pool.spend(number);
  simulation.least = std::min(simulation.least, node.incumbent.cost);
}

/// Descends along a known path from the root.
void TreeSearch::go_to(const Simulation& simulation) {
  board_.pool.clear();
  for (int32_t at : simulation.path) {
    const SearchTree::Node& node = tree_[at];
    [[maybe_unused]] bool done = at == 0 || egraph_.redo(node.change);
    assert(done && "redo() requires the state of the parent");
    board_.pool.add(node.found);
    for (uint32_t number : node.spent) board_.pool.spend(number);
  }
  for (uint32_t number : simulation.spent) board_.pool.spend(number);
  for (uint64_t group : simulation.refused) board_.pool.refuse(group);
  board_.explorer.moved();
  restore_incumbent(tree_[simulation.path.back()]);
}

void TreeSearch::roll_out(Simulation& simulation) {
  board_.roll_out(
      tree_[simulation.path.back()].depth, policy_, simulation, [this](double cost) { see(cost); },
      [this] { return limited(); });
}

void TreeSearch::go_back() {
  board_.incumbent.prices().forget(egraph_.changes_since(root_mark_));
  report_.memory_bytes =
      std::max(report_.memory_bytes, board_.memory_bytes() + tree_.memory_bytes());
  egraph_.rollback(root_);
  board_.explorer.moved();
  restore_incumbent(tree_.root());
}

// --- leaves -------------------------------------------------------------------------------------

size_t TreeSearch::allowed(const SearchTree::Node& node) const {
  if (node.next_action >= node.actions.size()) return 0;
  if (halving_ && node.parent < 0) return options_.halving;
  if (!options_.widen && !policy_.guides()) return SIZE_MAX;
  return 2 + static_cast<size_t>(1.5 * std::sqrt(node.stats.visits));
}

/// Adds a node for the next action that changes the e-graph, and enters it. Returns false if there
/// is none.
bool TreeSearch::expand(Simulation& simulation) {
  SearchTree::Node& node = tree_[simulation.path.back()];
  while (node.next_action < node.actions.size()) {
    uint32_t number = static_cast<uint32_t>(node.next_action++);
    Checkpoint before = egraph_.checkpoint();
    uint32_t mark = egraph_.change_mark();
    size_t applied = board_.act(node.actions[number], node.depth, simulation);
    if (applied > 0) {
      see(board_.incumbent.cost());
      grow(simulation, number, applied, before, mark);
      return true;
    }
    egraph_.rollback(before);
    egraph_.release(before);
    board_.explorer.moved();
    const std::vector<uint32_t>& tried = node.actions[number].matches;
    simulation.spent.insert(simulation.spent.end(), tried.begin(), tried.end());
  }
  return false;
}

/// Adds the state after the last action to the tree as a node.
void TreeSearch::grow(Simulation& simulation, uint32_t number, size_t applied, Checkpoint before,
                      uint32_t mark) {
  int32_t parent = simulation.path.back();
  SearchTree::Node &node = tree_[parent], &made = tree_.add();
  const Action& action = node.actions[number];
  made.parent = parent, made.depth = node.depth + 1;
  made.rule = action.rule, made.places = static_cast<uint32_t>(applied);
  if (options_.trace) made.where = board_.pool.place_text(action);
  made.spent = action.matches;
  made.incumbent = board_.incumbent.save();
  made.assessment = node.assessment, made.opinion_us = node.opinion_us;
  board_.explorer.find_new(mark, made.found);
  made.change = egraph_.take_back(before);
  [[maybe_unused]] bool again = egraph_.redo(made.change);
  assert(again && "the change was undone just before");
  board_.explorer.moved();
  tree_.weigh(made);
  node.edges.push_back({number, tree_.last()});
  enter(tree_.last(), simulation);
}

/// Orders the root's actions by a fresh draw for this decision. Actions tried in the previous
/// decision keep their places.
void TreeSearch::order_root() {
  SearchTree::Node& root = tree_.root();
  std::vector<double> shares;
  for (const Action& action : root.actions) shares.push_back(action.share);
  root_scores_ = gumbel_scores(shares, options_.seed, static_cast<size_t>(report_.decisions));
  reused_edges_ = root.edges.size();
  halving_.emplace(options_.halving, static_cast<size_t>(std::max(options_.budget, 1)));
  std::vector<size_t> order(root.actions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(root.next_action), order.end(),
                   [&](size_t a, size_t b) { return root_scores_[a] > root_scores_[b]; });
  std::vector<Action> actions;
  std::vector<double> scores;
  for (size_t i : order) {
    actions.push_back(std::move(root.actions[i]));
    scores.push_back(root_scores_[i]);
  }
  root.actions = std::move(actions);
  root_scores_ = std::move(scores);
}

/// Edges added in this decision have had one trial, when they were created.
int32_t TreeSearch::next_arm() {
  const SearchTree::Node& root = tree_.root();
  while (halving_->arms() < root.edges.size()) {
    size_t arm = halving_->arms();
    halving_->add(root_scores_[root.edges[arm].action], arm >= reused_edges_);
  }
  std::vector<double> values;
  for (const SearchTree::Edge& edge : root.edges)
    values.push_back(tree_[edge.child].stats.mean() / std::max(most_gain_, 1e-12));
  return root.edges[halving_->next(values)].child;
}

/// Returns the child to descend to, or -1 if there is none.
int32_t TreeSearch::select(const SearchTree::Node& node) {
  if (halving_ && node.parent < 0 && !node.edges.empty()) return next_arm();
  if (policy_.guides())
    return tree_.highest_prior_bound(node, 1 / std::max(most_gain_, 1e-12), options_.guidance);
  return tree_.highest_bound(node, 1 / std::max(most_gain_, 1e-12), options_.exploration);
}

// --- results ------------------------------------------------------------------------------------

/// Records the cost of a state, and keeps its graph if it is the best so far.
void TreeSearch::see(double cost) {
  if (!(cost < report_.best_cost * (1 - kLeastGain))) return;
  report_.best_cost = cost;
  gained_ = true;
  std::vector<ENodeId> nodes = board_.incumbent.used_nodes();
  report_.best.emplace(Found{graph_of(egraph_, source_, nodes), cost,
                             rules_that_made(egraph_, nodes), recorded_history(egraph_)});
  note("");
}

void TreeSearch::learn(const Simulation& simulation) {
  refused_.insert(simulation.refused.begin(), simulation.refused.end());
  for (const AppliedAction& done : simulation.actions) {
    RuleStats& stats = report_.rules[done.action.rule_number];
    stats.matches += done.matches;
    stats.applied += done.applied;
    stats.cyclic += done.cyclic;
    if (done.applied == 0) continue;
    ++report_.steps;
    policy_.learn(done.state, done.action, done.gain);
    RuleRecord& record = report_.records[done.action.rule_number];
    record.tried += 1, record.paid += done.gain > kLeastGain, record.gain += done.gain;
    report_.most_nodes = std::max(report_.most_nodes, done.state.nodes);
  }
}

/// Credits a simulation's gain over the mean of the earlier ones in this decision equally to its
/// actions. The immediate gain of an action is credited to it alone.
void TreeSearch::note_credit(const Simulation& simulation) {
  double from = tree_.root().incumbent.cost;
  double gain = std::max(1 - simulation.least / from, 0.0);
  double beyond =
      gain - (simulations_here_ ? gain_here_ / static_cast<double>(simulations_here_) : 0);
  gain_here_ += gain, ++simulations_here_;
  auto count = static_cast<double>(std::max<size_t>(simulation.actions.size(), 1));
  auto add = [&](RuleId rule, Grain grain, double own) {
    size_t at = rule * kGrains + static_cast<size_t>(grain);
    visits_[at] += 1;
    gains_[at] += own + std::max(beyond, 0.0) / count;
  };
  for (const AppliedAction& done : simulation.actions)
    if (done.applied > 0)
      add(static_cast<RuleId>(done.action.rule_number), done.action.grain, done.gain);
  for (size_t i = 1; i + 1 < simulation.path.size(); ++i) { // the last is an applied action
    const SearchTree::Node& parent = tree_[simulation.path[i - 1]];
    for (const SearchTree::Edge& edge : parent.edges)
      if (edge.child == simulation.path[i])
        add(parent.actions[edge.action].rule, parent.actions[edge.action].grain, 0);
  }
}

/// The gain that the policy predicts for the leaf's graph counts half.
void TreeSearch::back_up(const Simulation& simulation) {
  double gain = std::max(1 - simulation.least / report_.start_cost, 0.0);
  most_gain_ = std::max(most_gain_, gain);
  const SearchTree::Node& leaf = tree_[simulation.path.back()];
  if (leaf.assessment) {
    double expected = 1 - leaf.opinion_us * (1 - leaf.assessment->gain) / report_.start_cost;
    gain = std::max(gain, (gain + expected) / 2);
  }
  for (int32_t at : simulation.path) tree_.credit(at, gain, simulation.least);
}

// --- decisions ----------------------------------------------------------------------------------

void TreeSearch::commit(int32_t child) {
  SearchTree::Node& node = tree_[child];
  if (options_.trace)
    options_.trace->apply(node.rule, node.places, node.where), ++options_.trace->columns;
  [[maybe_unused]] bool done = egraph_.redo(node.change);
  assert(done);
  if (helpers_) helpers_->follow(node.change);
  egraph_.release(root_);
  board_.explorer.rebuild();
  SearchTree::Node& root = tree_.root();
  // Keep the pool order: match numbers are positions in it.
  std::vector<Match> found = std::move(root.found);
  found.insert(found.end(), std::make_move_iterator(node.found.begin()),
               std::make_move_iterator(node.found.end()));
  node.found = std::move(found);
  node.spent.insert(node.spent.end(), root.spent.begin(), root.spent.end());
  board_.incumbent.restore(node.incumbent);
  board_.incumbent.update();
  tree_.reroot(child, options_.reuse_tree);
}

bool TreeSearch::limited() {
  std::optional<StopReason> reason = limit();
  if (reason) report_.stop = *reason;
  return reason.has_value();
}

/// Also called by helpers, while no other thread changes the search.
std::optional<StopReason> TreeSearch::limit() const {
  return options_.reached(elapsed(), report_.memory_bytes);
}

void TreeSearch::notify() {
  if (!options_.progress || elapsed() - notified_s_ < kBetweenNotificationsS) return;
  notified_s_ = elapsed();
  options_.progress(report_);
}

void TreeSearch::note(const char* where) {
  if (options_.trace)
    options_.trace->points.push_back(
        {elapsed(), report_.best_cost, report_.simulations, node_count(egraph_), where});
}

} // namespace

MctsReport search_mcts(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                       PriceCache& prices, const MctsOptions& options, Policy& policy) {
  return TreeSearch(egraph, source, rules, prices, options, policy).run();
}

std::shared_ptr<const History> recorded_history(const EGraph& egraph) {
  return egraph.recording() ? std::make_shared<const History>(history_of(egraph)) : nullptr;
}

std::vector<RuleUse> rules_that_made(const EGraph& egraph, llvm::ArrayRef<ENodeId> nodes) {
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
  std::map<RuleId, size_t> counts;
  for (ENodeId id : nodes) {
    const ENode& node = egraph.node(id);
    if (node.rule < kCongruence && seen.insert({node.rule, node.origin.index}).second)
      ++counts[node.rule];
  }
  std::vector<RuleUse> uses;
  for (auto [rule, count] : counts) uses.push_back({rule, count});
  return uses;
}

} // namespace tg
