#include "compiler/search/baselines/local.h"

#include "compiler/extract/extract.h"

#include "compiler/search/rewrites.h"
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

using Path = std::map<RuleId, size_t>; // rules applied on the path to a graph

/// Returns the chain extended by this move, or null unless explanations are requested.
std::shared_ptr<LocalMove> made_by(const Rewrites& moves, const Graph& before, const Graph& after,
                                   std::shared_ptr<LocalMove> earlier) {
  if (!moves.recording()) return nullptr;
  return std::make_shared<LocalMove>(LocalMove{before, after, moves.history(), std::move(earlier)});
}

/// Estimates the size of a graph: each node, its operands and its entry in the hash index.
size_t bytes_of(const Graph& graph) { return graph.size() * (sizeof(Node) + 80); }

/// State that both searches share: limits, the best graph so far and statistics.
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
    std::shared_ptr<LocalMove> last;
  };

  std::optional<Graph> make(Rewrites& moves, size_t i) {
    RuleStats& stats = report_.rules[moves.match(i).rule];
    ++stats.matches;
    std::optional<Graph> made = moves.make(i);
    if (!made) return made;
    ++stats.applied;
    ++report_.moves;
    report_.most_nodes = std::max(report_.most_nodes, moves.nodes());
    update_peak_memory(moves);
    if (elapsed() - notified_s_ >= kBetweenNotificationsS) notify();
    if (options_.trace) options_.trace->apply(moves.match(i).rule, 1, moves.place(i));
    return made;
  }

  void see(const Graph& graph, double cost, const Path& path,
           const std::shared_ptr<LocalMove>& last) {
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

  /// Keeps the current best graph as a finalist before it is replaced.
  void keep_finalist() {
    std::vector<LocalFinalist>& kept = report_.finalists;
    if (options_.finalists == 0 || !(report_.best_cost < report_.start_cost)) return;
    kept.insert(kept.begin(), {std::move(report_.best), report_.best_cost,
                               std::move(report_.rules_applied), std::move(report_.last_move)});
    if (kept.size() > options_.finalists) kept.pop_back();
  }

  /// Reports moves instead of simulations, and no e-graph size.
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

  /// Updates the peak memory: the current graph, the best one and the queue.
  void update_peak_memory(const Rewrites& moves) {
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
  auto moves = std::make_unique<Rewrites>(now.graph, rules_, options_.explore, options_.explain);
  update_peak_memory(*moves);
  double cooling = std::log(options_.end_temperature / options_.start_temperature);
  for (size_t i = 0; i < budget && !limited(); ++i) {
    if (options_.trace) options_.trace->set_column(i, budget);
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
    auto last = made_by(*moves, now.graph, *made, now.last);
    moves.reset(); // it refers to the graph
    now = {std::move(*made), cost, std::move(path), std::move(last)};
    queued_bytes_ = bytes_of(now.graph);
    ++report_.graphs;
    see(now.graph, cost, now.path, now.last);
    moves = std::make_unique<Rewrites>(now.graph, rules_, options_.explore, options_.explain);
  }
  return finish();
}

LocalReport Local::taso() {
  size_t budget = options_.budget ? options_.budget : 300;
  std::multimap<double, Entry> queue;
  queue.emplace(report_.best_cost, Entry{report_.best, report_.best_cost, {}, nullptr});
  for (size_t i = 0; i < budget; ++i) {
    if (options_.trace) options_.trace->set_column(i, budget);
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

/// Makes all moves of a graph and queues the new ones that are cheap enough.
void Local::expand(const Entry& entry, std::multimap<double, Entry>& queue) {
  if (entry.cost > options_.alpha * report_.best_cost) return;
  Rewrites moves(entry.graph, rules_, options_.explore, options_.explain);
  update_peak_memory(moves);
  if (moves.full()) report_.stop = StopReason::Nodes; // this graph is not expanded
  if (moves.full()) return;
  for (size_t i = 0; i < moves.size() && !limited(); ++i) {
    std::optional<Graph> made = make(moves, i);
    if (!made || !seen_.insert(structural_hash(*made)).second) continue;
    ++report_.graphs;
    double cost = price_graph(*made, prices_);
    if (!(cost < options_.alpha * report_.best_cost)) continue;
    Path path = entry.path;
    ++path[moves.match(i).rule];
    auto last = made_by(moves, entry.graph, *made, entry.last);
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
