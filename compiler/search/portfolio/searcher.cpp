#include "compiler/search/portfolio/searcher.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeeperSlices = 4;

/// The late search: its iterations, and its e-nodes as a multiple of the graph's nodes.
constexpr int kLateIterations = 5;
constexpr size_t kLateGrowth = 8;

/// Searches one graph with its own symbols.
class Searcher {
public:
  Searcher(OwnTask task, llvm::ArrayRef<Rule> rules, SharedCost& costs,
           const PortfolioOptions& options, const PriorStore* priors, Clock::time_point deadline,
           size_t memory_limit_mb, int threads, FollowSearch follow)
      : task_(std::move(task)), rules_(rules), costs_(costs), prices_(task_.graph.symbols(), costs),
        options_(options), deadline_(deadline), memory_limit_mb_(memory_limit_mb),
        threads_(threads), follow_(std::move(follow)) {
    out_.rules.resize(rules.size());
    out_.records.resize(rules.size());
    if (options.explain) out_.chain = derivation_of(task_.graph);
    if (options.policy)
      policy_ = options.policy->fresh();
    else if (options.use_priors)
      policy_ = std::make_unique<StatisticsPolicy>(priors);
    else
      policy_ = std::make_unique<RandomPolicy>();
  }

  Finding run() {
    out_.before_us = out_.cost_us = price_graph(task_.graph, prices_);
    switch (task_.kind) {
    case SearchTask::Kind::Thorough: saturate_once(exhaustive(), true); break;
    case SearchTask::Kind::Plain: out_.complete = saturate_source(); break;
    case SearchTask::Kind::Deeper:
      add_multi_iterations(1, options_.mcts.explore.node_limit, true);
      break;
    case SearchTask::Kind::Search: search(); break;
    case SearchTask::Kind::Late: search_late(); break;
    }
    return std::move(out_);
  }

private:
  void search() {
    if (left() <= 0) return;
    out_.complete = options_.use_saturation && saturate_once(exhaustive(), false).complete;
    if (out_.complete || left() <= 0 || out_.out_of_memory) return;
    if (options_.use_tree)
      search_tree();
    else
      saturate_once(exhaustive(), true);
  }

  /// Saturates on the schedule of the options. If that completes, tries deeper schedules as far as
  /// the limits allow; with small e-graphs this check costs at most twice as much. Returns true if
  /// nothing else can be found.
  bool saturate_source() {
    Saturated source = saturate_once(options_.saturate, true);
    size_t limit = options_.mcts.explore.node_limit;
    if (source.proved && !source.complete && limit > kFirstStageNodes)
      return add_multi_iterations(options_.saturate.multi_iterations + 1, limit, false);
    if (source.complete || !source.proved || source.filtered) return source.complete;
    SaturateOptions all = exhaustive();
    all.node_limit = std::min(options_.saturate.node_limit, std::max(limit, 2 * out_.most_nodes));
    return saturate_once(all, false).complete;
  }

  /// Increases the iterations of multi-pattern rules one by one until an e-graph is cut off,
  /// because each such iteration multiplies the nodes. The e-graph that was cut off is extracted
  /// only with `extract_anyway`. Returns true if nothing else can be found.
  bool add_multi_iterations(int first, size_t node_limit, bool extract_anyway) {
    anew_ = true;
    SaturateOptions options = exhaustive();
    options.node_limit = node_limit;
    Saturated last = {.proved = true};
    for (int i = first; i <= options.iterations && left() > 0; ++i) {
      options.multi_iterations = i;
      last = saturate_once(options, extract_anyway);
      if (!last.proved || last.complete) break;
    }
    return last.complete;
  }

  /// Saturates with the rules of one pattern and extracts without a solver. The number of nodes
  /// alone limits it, at some microseconds for each, so the result does not depend on the clock.
  void search_late() {
    SaturateOptions options = exhaustive();
    options.iterations = kLateIterations;
    options.multi_iterations = 0;
    options.node_limit = std::min(options_.saturate.node_limit, kLateGrowth * line().size());
    options.time_limit_s = kInfiniteCost;
    options.stop = StopToken();
    saturate_once(options, true);
  }
  bool is_late() const { return task_.kind == SearchTask::Kind::Late; }

  /// Returns the graph from which the next e-graph is built.
  const Graph& line() const { return out_.graph && !anew_ ? *out_.graph : task_.graph; }
  double left() const { return std::chrono::duration<double>(deadline_ - Clock::now()).count(); }

  /// Returns a schedule with all rules in all iterations. If it completes, nothing else can be
  /// found.
  SaturateOptions exhaustive() const {
    SaturateOptions saturate = options_.saturate;
    saturate.compatible = false;
    saturate.node_limit = options_.mcts.explore.node_limit;
    saturate.multi_node_limit = 0;
    saturate.iterations = saturate.multi_iterations = 30;
    return saturate;
  }

  struct Saturated {
    bool proved = false;   // saturated, and the best graph is proved optimal
    bool complete = false; // and no rule can add anything else
    bool filtered = false; // nodes that would close cycles were left out
  };

  /// Saturates once. An e-graph that is cut off is extracted only with `extract_anyway`. For a tree
  /// search task, an e-graph with filtered nodes counts as cut off.
  Saturated saturate_once(SaturateOptions options, bool extract_anyway) {
    if (!is_late()) options.time_limit_s = std::max(std::min(options.time_limit_s, left()), 0.0);
    options.memory_limit_mb = memory_limit_mb_;
    EGraph egraph = egraph_of(line());
    if (options_.explain) egraph.record_history();
    start_chain();
    if (follow_) options.progress = [this](size_t nodes) { show(nodes); };
    SaturateReport report = saturate(egraph, rules_, options);
    out_.out_of_memory |= report.stop == StopReason::Memory;
    for (size_t i = 0; i < report.rules.size(); ++i) {
      out_.rules[i] += report.rules[i];
      out_.trace.apply(static_cast<RuleId>(i), report.rules[i].applied);
    }
    ++out_.trace.columns;
    out_.memory_bytes = std::max(out_.memory_bytes, report.memory_bytes);
    count(egraph);
    bool ended = report.stop == StopReason::Saturated, unfiltered = report.filtered == 0;
    if (task_.kind == SearchTask::Kind::Search) ended &= unfiltered;
    if (!ended && !extract_anyway) return {};
    bool proved = extract_from(egraph, ended, options.multi_iterations) && ended;
    // If the last iteration included all rules, no rule can add anything.
    bool all = unfiltered && report.iterations <= options.multi_iterations;
    return {proved, proved && all, !unfiltered};
  }

  void search_tree() {
    MctsOptions options = options_.mcts;
    options.time_limit_s = std::max(std::min(options.time_limit_s, left()), 0.0);
    // Seeds agree more often with whole rules; only a guide chooses single places well.
    options.widen &= policy_->guides();
    options.trace = options_.mcts.trace ? &out_.trace : nullptr;
    options.memory_limit_mb = memory_limit_mb_;
    options.threads = threads_;
    options.costs = &costs_;
    Graph start = line();
    EGraph egraph = egraph_of(start);
    if (options_.explain) egraph.record_history();
    start_chain();
    if (follow_)
      options.progress = [this](const MctsReport& so_far) { show(so_far.most_nodes, &so_far); };
    MctsReport report = search_mcts(egraph, start, rules_, prices_, options, *policy_);
    out_.out_of_memory |= report.stop == StopReason::Memory;
    out_.decisions += static_cast<size_t>(report.decisions);
    out_.simulations += report.simulations;
    out_.memory_bytes = std::max(out_.memory_bytes, report.memory_bytes);
    out_.most_nodes = std::max(out_.most_nodes, report.most_nodes);
    for (size_t i = 0; i < report.rules.size(); ++i) {
      out_.rules[i] += report.rules[i];
      out_.records[i].tried += report.records[i].tried;
      out_.records[i].paid += report.records[i].paid;
      out_.records[i].gain += report.records[i].gain;
    }
    count(egraph);
    if (report.best)
      take(std::move(report.best->graph), report.best->rules, report.best->history.get());
    extract_from(egraph, false, 0);
  }

  /// Reports the e-graph being grown, by tree search if `tree` is given, else by saturation.
  void show(size_t nodes, const MctsReport* tree = nullptr) {
    SearchStatus now{std::max(out_.most_nodes, nodes), out_.simulations, out_.cost_us,
                     out_.applied};
    if (tree) now.simulations += tree->simulations;
    if (tree && tree->best && tree->best->cost_us < now.cost_us) {
      now.cost_us = tree->best->cost_us;
      add_counts(now.applied, tree->best->rules, rules_);
    }
    follow_(now);
  }

  void count(const EGraph& egraph) {
    ++out_.egraphs;
    out_.most_nodes = std::max(out_.most_nodes, node_count(egraph));
    out_.most_classes = std::max(out_.most_classes, class_count(egraph));
  }

  /// Extracts, and returns true if the result is proved optimal for the e-graph. `saturated` and
  /// `multi_iterations` (iterations with multi-pattern rules) are recorded with the bound.
  bool extract_from(const EGraph& egraph, bool saturated, int multi_iterations) {
    ExtractOptions options = options_.extract;
    double slice = options_.slice_s;
    if (task_.kind == SearchTask::Kind::Deeper)
      slice = std::max(slice, std::min(kDeeperSlices * slice, left() / 2));
    slice = std::min({options.ilp.time_limit_s, slice, left()});
    if (is_late()) {
      options.extractor = Extractor::GreedyDag;
      options.stop = StopToken();
      slice = kInfiniteCost;
    }
    if (slice <= 0) return false;
    options.ilp.time_limit_s = slice;
    Clock::time_point start = Clock::now();
    Result<ExtractedGraph> found = extract(egraph, line(), prices_, options);
    bool storable = found.ok();
    // The given graph may store more weights than extraction allows. Then only a bound is computed.
    if (!storable && task_.kind == SearchTask::Kind::Deeper) {
      options.max_weight_growth = kInfiniteCost;
      found = extract(egraph, line(), prices_, options);
    }
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    out_.extract_s += seconds;
    if (!found) return false; // the given graph remains
    out_.slices_used_up += found->out_of_time;
    bool of_source = task_.kind == SearchTask::Kind::Plain && (anew_ || !out_.graph);
    if (found->lower_bound_us > 0)
      out_.bounds.push_back({found->lower_bound_us, storable ? found->cost_us : out_.cost_us,
                             node_count(egraph), filtered_count(egraph), of_source, saturated,
                             multi_iterations, found->bound_bytes});
    bool optimal = found->optimal;
    if (!storable) return optimal;
    std::shared_ptr<const History> history = recorded_history(egraph);
    take(std::move(found->graph), found->rules_used, history.get());
    if (of_source && options_.finalists > 0) extract_others(egraph, history.get());
    return optimal;
  }

  /// Extracts with the fast extractors as well. The e-graph must be built from the given graph.
  void extract_others(const EGraph& egraph, const History* history) {
    out_.others.clear();
    std::vector<Extractor> greedy = greedy_extractors();
    for (Extractor extractor : llvm::reverse(greedy)) {
      ExtractOptions options = options_.extract;
      options.extractor = extractor;
      Result<ExtractedGraph> found = extract(egraph, task_.graph, prices_, options);
      if (!found || !(found->cost_us < out_.before_us)) continue;
      PortfolioFinalist other{std::move(found->graph), found->cost_us};
      if (history) {
        Result<Derivation> chain =
            explain(*history, rules_, task_.graph, other.graph, options_.explaining);
        if (!chain) continue;
        other.chain = std::move(*chain);
      }
      other.rules_applied = named_counts(found->rules_used, rules_);
      out_.others.push_back(std::move(other));
    }
  }

  /// Takes the graph if it is better than the current one.
  bool take(Graph graph, llvm::ArrayRef<RuleUse> used, const History* history) {
    double cost = price_graph(graph, prices_);
    bool simpler = task_.kind == SearchTask::Kind::Plain && cost <= out_.cost_us &&
                   graph.op_count() < (out_.graph ? *out_.graph : task_.graph).op_count();
    if (!(cost < out_.cost_us * (1 - kLeastGain)) && !simpler) return false;
    if (history) record_chain(graph, *history);
    out_.cost_us = cost;
    out_.graph.emplace(std::move(graph));
    if (anew_) out_.applied.clear();
    add_counts(out_.applied, used, rules_);
    return true;
  }

  /// Records the start of the chain for the next e-graph.
  void start_chain() {
    if (!options_.explain) return;
    start_.emplace(line());
    to_start_ = anew_ ? derivation_of(task_.graph) : out_.chain;
  }

  void record_chain(const Graph& graph, const History& history) {
    out_.chain.reset();
    if (!to_start_) return;
    Result<Derivation> next = explain(history, rules_, *start_, graph, options_.explaining);
    if (!next) {
      out_.unexplained = next.error().message;
      return;
    }
    out_.chain = to_start_;
    append(*out_.chain, *next);
    trim(*out_.chain);
  }

  OwnTask task_;
  llvm::ArrayRef<Rule> rules_;
  SharedCost& costs_;
  PriceCache prices_;
  const PortfolioOptions& options_;
  Clock::time_point deadline_;
  size_t memory_limit_mb_;
  int threads_;
  FollowSearch follow_;
  bool anew_ = false; // e-graphs start at the given graph: each contains the previous
  std::unique_ptr<Policy> policy_;
  // For explanations: the graph from which the current e-graph was built, and the chain to it.
  std::optional<Graph> start_;
  std::optional<Derivation> to_start_;
  Finding out_;
};

} // namespace

OwnTask own_task(const SearchTask& task) {
  auto symbols = std::make_shared<Symbols>();
  return {transfer(*task.graph, symbols), task.kind};
}

Finding run_search(OwnTask task, llvm::ArrayRef<Rule> rules, SharedCost& costs,
                   const PortfolioOptions& options, const PriorStore* priors,
                   std::chrono::steady_clock::time_point deadline, size_t memory_limit_mb,
                   int threads, FollowSearch follow) {
  return Searcher(std::move(task), rules, costs, options, priors, deadline, memory_limit_mb,
                  threads, std::move(follow))
      .run();
}

} // namespace tg
