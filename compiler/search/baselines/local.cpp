#include "compiler/search/baselines/local.h"

#include "compiler/extract/extract.h"

#include "compiler/search/baselines/published_costs.h"
#include "compiler/search/explorer.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/Hashing.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace tg {

namespace {

using Path = std::map<RuleId, size_t>; // rules on the way to a graph

/// A graph, and what can be done to it at once.
class Moves {
public:
  Moves(const Graph& graph, llvm::ArrayRef<Rule> rules, const LocalOptions& options)
      : graph_(graph), egraph_(EGraph::from_graph(graph)),
        explorer_(egraph_, rules, options.explore) {
    if (options.explain) egraph_.record_history();
    explorer_.settle();
    explorer_.find_new(0, matches_);
    source_.resize(egraph_.class_bound());
    for (uint32_t n = 0; n < egraph_.node_bound(); ++n)
      if (usable(egraph_, {n})) source_[egraph_.class_of({n}).index] = {n};
  }

  size_t size() const { return matches_.size(); }
  const Match& match(size_t i) const { return matches_[i]; }
  size_t nodes() const { return egraph_.node_count(); }
  bool full() const { return explorer_.full(); }
  std::string place(size_t i) const { return place_text(egraph_, {matches_[i].words.front()}); }
  size_t memory_bytes() const { return egraph_.memory_bytes() + explorer_.memory_bytes(); }
  /// Of the last move made; nothing unless asked for.
  std::shared_ptr<MoveMade> made(const Graph& after, std::shared_ptr<MoveMade> earlier) const {
    if (!egraph_.recording()) return nullptr;
    return std::make_shared<MoveMade>(MoveMade{graph_, after, history_, std::move(earlier)});
  }

  /// The graph after one move; nothing if the rule does not apply there.
  std::optional<Graph> make(size_t i) {
    Checkpoint before = egraph_.checkpoint();
    uint32_t nodes = egraph_.node_bound();
    std::optional<Graph> out;
    if (explorer_.apply(matches_[i]) == Outcome::Applied) {
      explorer_.settle();
      out = rebuilt(nodes);
      if (out && egraph_.recording()) history_ = history_of(egraph_);
    }
    egraph_.rollback(before);
    egraph_.release(before);
    explorer_.moved();
    return out;
  }

private:
  /// New nodes in the classes that were there replace theirs; where classes became one, so do
  /// their users' operands, and the older node stays.
  std::optional<Graph> rebuilt(uint32_t first_new) {
    std::vector<ENodeId> choice(egraph_.class_bound());
    for (uint32_t c = 0; c < source_.size(); ++c) {
      ENodeId node = source_[c];
      if (!node.valid() || !usable(egraph_, node)) continue;
      ENodeId& at = choice[egraph_.class_of(node).index];
      if (!at.valid() || node.index < at.index) at = node;
    }
    for (uint32_t n = first_new; n < egraph_.node_bound(); ++n)
      if (usable(egraph_, {n})) choice[egraph_.class_of({n}).index] = {n};
    std::vector<ENodeId> order;
    if (!walk(choice, order)) return std::nullopt;
    return graph_of(egraph_, graph_, order);
  }

  /// Chosen nodes below the roots, operands first and in their order, so that equal graphs are
  /// numbered equally. False where a class has none.
  bool walk(llvm::ArrayRef<ENodeId> choice, std::vector<ENodeId>& order) const {
    std::vector<uint8_t> state(choice.size()); // 1: entered, 2: done
    std::vector<ClassId> worklist;
    for (const EGraphRoot& root : egraph_.roots()) {
      worklist.push_back(egraph_.find(root.id));
      while (!worklist.empty()) {
        ClassId cls = worklist.back();
        ENodeId node = choice[cls.index];
        if (!node.valid()) return false;
        if (state[cls.index] == 0) {
          state[cls.index] = 1;
          llvm::ArrayRef<ClassId> children = egraph_.children(node);
          for (size_t i = children.size(); i-- > 0;) {
            ClassId child = egraph_.find(children[i]);
            if (state[child.index] == 0) worklist.push_back(child);
          }
          continue;
        }
        worklist.pop_back();
        if (state[cls.index] == 1) state[cls.index] = 2, order.push_back(node);
      }
    }
    return true;
  }

  const Graph& graph_;
  EGraph egraph_;
  Explorer explorer_;
  std::vector<Match> matches_;
  std::vector<ENodeId> source_; // by class: the graph's own node
  History history_;
};

uint64_t hash_of(const Graph& graph) {
  llvm::hash_code hash = graph.size();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    hash = llvm::hash_combine(hash, static_cast<unsigned>(node.op), node.attrs.index);
    for (NodeId operand : graph.operands({i})) hash = llvm::hash_combine(hash, operand.index);
  }
  for (const GraphOutput& output : graph.outputs())
    hash = llvm::hash_combine(hash, output.node.index);
  return static_cast<uint64_t>(hash) >> 2;
}

/// About: a node, its operands, its entry in the index of equal nodes.
size_t bytes_of(const Graph& graph) { return graph.size() * (sizeof(Node) + 80); }

/// What both searches share: limits, the best so far, figures.
class Local {
public:
  Local(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
        const LocalOptions& options)
      : rules_(rules), prices_(prices), options_(options), report_(start(source)),
        rng_(options.seed) {
    report_.rules.resize(rules.size());
    report_.start_cost = report_.best_cost = price_graph(source, prices);
    notify();
  }

  LocalReport anneal();
  LocalReport taso();

private:
  static LocalReport start(const Graph& source) {
    return {StopReason::Iterations, 0, 1, 0, 0, source, 0, 0, 0, {}, {}, nullptr, {}};
  }

  struct Entry {
    Graph graph;
    double cost = 0;
    Path path;
    std::shared_ptr<MoveMade> last;
  };

  std::optional<Graph> make(Moves& moves, size_t i) {
    RuleStats& stats = report_.rules[moves.match(i).rule];
    ++stats.matches;
    std::optional<Graph> made = moves.make(i);
    if (!made) return made;
    ++stats.applied;
    ++report_.moves;
    report_.most_nodes = std::max(report_.most_nodes, moves.nodes());
    hold(moves);
    if (elapsed() - notified_s_ >= kBetweenNotificationsS) notify();
    if (options_.trace) options_.trace->apply(moves.match(i).rule, 1, moves.place(i));
    return made;
  }

  void see(const Graph& graph, double cost, const Path& path,
           const std::shared_ptr<MoveMade>& last) {
    if (!(cost < report_.best_cost * (1 - kLeastGain))) return;
    keep_finalist();
    report_.best_cost = cost;
    report_.best = graph;
    report_.rules_applied.clear();
    for (auto [rule, count] : path) report_.rules_applied.push_back({rule, count});
    report_.last_move = last;
    if (options_.trace)
      options_.trace->points.push_back({elapsed(), cost, report_.moves, report_.most_nodes, ""});
    notify();
  }

  /// The best so far, which is about to be replaced.
  void keep_finalist() {
    std::vector<LocalFinalist>& kept = report_.finalists;
    if (options_.finalists == 0 || !(report_.best_cost < report_.start_cost)) return;
    kept.insert(kept.begin(), {std::move(report_.best), report_.best_cost,
                               std::move(report_.rules_applied), std::move(report_.last_move)});
    if (kept.size() > options_.finalists) kept.pop_back();
  }

  /// Graphs are tried, not simulations; and there is no e-graph that grows.
  void notify() {
    notified_s_ = elapsed();
    if (!options_.progress) return;
    SearchProgress now{notified_s_, options_.time_limit_s, report_.start_cost, report_.best_cost};
    now.simulations = report_.moves;
    now.where = "graph after graph";
    now.rules = named_counts(report_.rules_applied, rules_);
    options_.progress(now);
  }

  bool limited() {
    std::optional<StopReason> reason = options_.reached(elapsed(), report_.memory_bytes);
    if (reason) report_.stop = *reason;
    return reason.has_value();
  }

  /// What is held now: the graph that is looked at, the best, and those that wait.
  void hold(const Moves& moves) {
    report_.memory_bytes = std::max(report_.memory_bytes,
                                    moves.memory_bytes() + bytes_of(report_.best) + queued_bytes_);
  }

  LocalReport finish() {
    report_.seconds = elapsed();
    return std::move(report_);
  }

  void expand(const Entry& entry, std::multimap<double, Entry>& queue);
  double elapsed() const { return watch_.seconds(); }

  llvm::ArrayRef<Rule> rules_;
  PriceCache& prices_;
  const LocalOptions& options_;
  LocalReport report_;
  std::mt19937_64 rng_;
  llvm::DenseSet<uint64_t> seen_;
  size_t queued_bytes_ = 0;
  double notified_s_ = 0;
  Stopwatch watch_;
};

LocalReport Local::anneal() {
  size_t budget = options_.budget ? options_.budget : 4'000;
  Entry now{report_.best, report_.best_cost, {}, nullptr};
  auto moves = std::make_unique<Moves>(now.graph, rules_, options_);
  hold(*moves);
  double cooling = std::log(options_.end_temperature / options_.start_temperature);
  for (size_t i = 0; i < budget && !limited(); ++i) {
    if (options_.trace) options_.trace->stand_at(i, budget);
    if (moves->size() == 0 || moves->full()) {
      report_.stop = moves->full() ? StopReason::Nodes : StopReason::Saturated;
      break;
    }
    size_t pick = rng_() % moves->size();
    std::optional<Graph> made = make(*moves, pick);
    if (!made) continue;
    double cost = price_graph(*made, prices_), progress = static_cast<double>(i) / budget;
    double temperature =
        report_.start_cost * options_.start_temperature * std::exp(cooling * progress);
    double luck = std::uniform_real_distribution<double>(0, 1)(rng_);
    if (!(cost < now.cost) && luck >= std::exp((now.cost - cost) / temperature)) continue;
    Path path = std::move(now.path);
    ++path[moves->match(pick).rule];
    auto last = moves->made(*made, now.last);
    moves.reset(); // it refers to the graph
    now = {std::move(*made), cost, std::move(path), std::move(last)};
    queued_bytes_ = bytes_of(now.graph);
    ++report_.graphs;
    see(now.graph, cost, now.path, now.last);
    moves = std::make_unique<Moves>(now.graph, rules_, options_);
  }
  return finish();
}

LocalReport Local::taso() {
  size_t budget = options_.budget ? options_.budget : 300;
  std::multimap<double, Entry> queue;
  queue.emplace(report_.best_cost, Entry{report_.best, report_.best_cost, {}, nullptr});
  for (size_t i = 0; i < budget; ++i) {
    if (options_.trace) options_.trace->stand_at(i, budget);
    if (limited()) return finish();
    if (queue.empty()) {
      if (report_.stop != StopReason::Nodes) report_.stop = StopReason::Saturated;
      break;
    }
    auto first = queue.extract(queue.begin());
    queued_bytes_ -= std::min(queued_bytes_, bytes_of(first.mapped().graph));
    expand(first.mapped(), queue);
  }
  return finish();
}

/// Makes all moves of a graph; those that are new and cheap enough join the queue.
void Local::expand(const Entry& entry, std::multimap<double, Entry>& queue) {
  if (entry.cost > options_.alpha * report_.best_cost) return;
  Moves moves(entry.graph, rules_, options_);
  hold(moves);
  if (moves.full()) report_.stop = StopReason::Nodes; // of this graph nothing is made
  if (moves.full()) return;
  for (size_t i = 0; i < moves.size() && !limited(); ++i) {
    std::optional<Graph> made = make(moves, i);
    if (!made || !seen_.insert(hash_of(*made)).second) continue;
    ++report_.graphs;
    double cost = price_graph(*made, prices_);
    if (!(cost < options_.alpha * report_.best_cost)) continue;
    Path path = entry.path;
    ++path[moves.match(i).rule];
    auto last = moves.made(*made, entry.last);
    see(*made, cost, path, last);
    queued_bytes_ += bytes_of(*made);
    queue.emplace(cost, Entry{std::move(*made), cost, std::move(path), std::move(last)});
    if (queue.size() <= options_.most_queued) continue;
    queued_bytes_ -= bytes_of(std::prev(queue.end())->second.graph);
    queue.erase(std::prev(queue.end()));
  }
}

} // namespace

LocalReport search_anneal(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                          const LocalOptions& options) {
  return Local(source, rules, prices, options).anneal();
}

LocalReport search_taso(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                        const LocalOptions& options) {
  return Local(source, rules, prices, options).taso();
}

} // namespace tg
