#include "compiler/search/searcher.h"

#include "compiler/search/published_costs.h"

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastGain = 1e-9; // relative

/// Searches one graph, with symbols of its own.
class Searcher {
public:
  Searcher(OwnTask task, llvm::ArrayRef<Rule> rules, CostModel& costs,
           const PortfolioOptions& options, const PriorStore* priors, Clock::time_point deadline,
           size_t memory_limit_mb, int threads)
      : task_(std::move(task)), rules_(rules), costs_(costs), prices_(task_.graph.symbols(), costs),
        options_(options), deadline_(deadline), memory_limit_mb_(memory_limit_mb),
        threads_(threads) {
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
    out_.before_us = out_.cost_us = line_us_ = price_graph(task_.graph, prices_);
    if (task_.kind == SearchTask::Kind::Thorough) {
      out_.complete = saturate_once(exhaustive(), true);
      return std::move(out_);
    }
    if (task_.kind == SearchTask::Kind::Plain) {
      bool ended = saturate_once(options_.saturate, true);
      // Whether there is more costs at most twice as much to see.
      SaturateOptions all = exhaustive();
      all.node_limit =
          std::min(options_.saturate.node_limit, std::max(all.node_limit, 2 * out_.most_nodes));
      out_.complete = ended && saturate_once(all, false);
      return std::move(out_);
    }
    int rounds = options_.use_restarts ? options_.rounds : 1;
    for (int round = 0; round < rounds && left() > 0 && !out_.out_of_memory; ++round) {
      double before = line_us_;
      if (options_.use_saturation && saturate_once(exhaustive(), false)) {
        out_.complete = round == 0;
        break;
      }
      if (options_.use_tree)
        search_tree(round);
      else
        saturate_once(exhaustive(), true);
      if (!(line_us_ < before * (1 - kLeastGain))) break;
    }
    return std::move(out_);
  }

private:
  /// What the next e-graph starts from.
  const Graph& line() const { return out_.graph ? *out_.graph : task_.graph; }
  double left() const { return std::chrono::duration<double>(deadline_ - Clock::now()).count(); }

  /// All rules in all iterations: where it ends by itself, nothing else can be found.
  SaturateOptions exhaustive() const {
    SaturateOptions saturate = options_.saturate;
    saturate.compatible = false;
    saturate.node_limit = options_.mcts.explore.node_limit;
    saturate.multi_node_limit = 0;
    saturate.iterations = saturate.multi_iterations = 30;
    return saturate;
  }

  /// True if the e-graph holds all that the rules can say. One that does not is extracted from
  /// only if asked.
  bool saturate_once(SaturateOptions options, bool extract_anyway) {
    options.time_limit_s = std::max(std::min(options.time_limit_s, left()), 0.0);
    options.memory_limit_mb = memory_limit_mb_;
    EGraph egraph = EGraph::from_graph(line());
    if (options_.explain) egraph.record_history();
    start_telling();
    SaturateReport report = saturate(egraph, rules_, options);
    out_.out_of_memory |= report.stop == StopReason::Memory;
    for (size_t i = 0; i < report.rules.size(); ++i) {
      out_.rules[i].matches += report.rules[i].matches;
      out_.rules[i].applied += report.rules[i].applied;
      out_.rules[i].cyclic += report.rules[i].cyclic;
      out_.trace.apply(static_cast<RuleId>(i), report.rules[i].applied);
    }
    ++out_.trace.columns;
    out_.memory_bytes = std::max(out_.memory_bytes, report.memory_bytes);
    count(egraph);
    bool ended = report.stop == StopReason::Saturated && report.filtered == 0;
    if (ended || extract_anyway) return extract_from(egraph) && ended;
    return false;
  }

  void search_tree(int round) {
    MctsOptions options = options_.mcts;
    options.time_limit_s = std::max(std::min(options.time_limit_s, left()), 0.0);
    options.seed += static_cast<uint64_t>(round);
    // Rules everywhere first, which all seeds agree on; places one by one around what that found.
    options.widen &= round > 0;
    options.trace = options_.mcts.trace ? &out_.trace : nullptr;
    options.memory_limit_mb = memory_limit_mb_;
    options.threads = threads_;
    options.costs = &costs_;
    Graph start = line();
    EGraph egraph = EGraph::from_graph(start);
    if (options_.explain) egraph.record_history();
    start_telling();
    MctsReport report = search_mcts(egraph, start, rules_, prices_, options, *policy_);
    out_.out_of_memory |= report.stop == StopReason::Memory;
    out_.simulations += report.simulations;
    out_.memory_bytes = std::max(out_.memory_bytes, report.memory_bytes);
    out_.most_nodes = std::max(out_.most_nodes, report.most_nodes);
    for (size_t i = 0; i < report.rules.size(); ++i) {
      out_.rules[i].matches += report.rules[i].matches;
      out_.rules[i].applied += report.rules[i].applied;
      out_.rules[i].cyclic += report.rules[i].cyclic;
      out_.records[i].tried += report.records[i].tried;
      out_.records[i].paid += report.records[i].paid;
      out_.records[i].gain += report.records[i].gain;
    }
    count(egraph);
    if (report.best)
      take(std::move(report.best->graph), report.best->rules, report.best->history.get());
    extract_from(egraph);
  }

  void count(const EGraph& egraph) {
    ++out_.egraphs;
    out_.most_nodes = std::max(out_.most_nodes, egraph.node_count());
    out_.most_classes = std::max(out_.most_classes, egraph.class_count());
  }

  /// True if what was extracted is the best of the e-graph, by proof.
  bool extract_from(const EGraph& egraph) {
    ExtractOptions options = options_.extract;
    double slice = std::min({options.ilp.time_limit_s, options_.slice_s, left()});
    if (slice <= 0) return false;
    options.ilp.time_limit_s = slice;
    Clock::time_point start = Clock::now();
    Result<ExtractedGraph> found = extract(egraph, line(), prices_, options);
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    out_.extract_s += seconds;
    if (!found) return false; // there is what was given
    if (!found->optimal && seconds >= slice) ++out_.slices_used_up;
    std::vector<std::pair<RuleId, size_t>> used;
    for (const RuleUse& use : found->rules_used) used.push_back({use.rule, use.count});
    double bound = found->lower_bound_us;
    bool optimal = found->optimal;
    std::shared_ptr<const History> history = told_by(egraph);
    if (take(std::move(found->graph), used, history.get()) || optimal) out_.bound_us = bound;
    return optimal;
  }

  /// If it is better than what there was.
  bool take(Graph graph, llvm::ArrayRef<std::pair<RuleId, size_t>> used, const History* history) {
    double cost = price_graph(graph, prices_);
    bool simpler = task_.kind == SearchTask::Kind::Plain && cost <= out_.cost_us &&
                   graph.op_count() < line().op_count();
    if (!(cost < out_.cost_us * (1 - kLeastGain)) && !simpler) return false;
    if (history) tell(graph, *history);
    out_.cost_us = line_us_ = cost;
    out_.graph.emplace(std::move(graph));
    for (auto [rule, count] : used)
      if (rule < rules_.size()) out_.applied[rules_[rule].name] += count;
    return true;
  }

  /// What the next e-graph finds is told from here on.
  void start_telling() {
    if (!options_.explain) return;
    start_.emplace(line());
    to_start_ = out_.chain;
  }

  void tell(const Graph& graph, const History& history) {
    out_.chain.reset();
    if (!to_start_) return;
    Result<Derivation> next = explain(history, rules_, *start_, graph);
    if (!next) {
      out_.unexplained = next.error().message;
      return;
    }
    out_.chain = to_start_;
    append(*out_.chain, *next);
    cut_loops(*out_.chain);
  }

  OwnTask task_;
  llvm::ArrayRef<Rule> rules_;
  CostModel& costs_;
  PriceCache prices_;
  const PortfolioOptions& options_;
  Clock::time_point deadline_;
  size_t memory_limit_mb_;
  int threads_;
  double line_us_ = 0;
  std::unique_ptr<Policy> policy_;
  // Of explanations: the graph that the present e-graph was made from, and the chain to it.
  std::optional<Graph> start_;
  std::optional<Derivation> to_start_;
  Finding out_;
};

} // namespace

OwnTask own_task(const SearchTask& task) {
  auto symbols = std::make_shared<Symbols>();
  return {transfer(*task.graph, symbols), task.kind};
}

Finding run_search(OwnTask task, llvm::ArrayRef<Rule> rules, CostModel& costs,
                   const PortfolioOptions& options, const PriorStore* priors,
                   std::chrono::steady_clock::time_point deadline, size_t memory_limit_mb,
                   int threads) {
  return Searcher(std::move(task), rules, costs, options, priors, deadline, memory_limit_mb,
                  threads)
      .run();
}

} // namespace tg
