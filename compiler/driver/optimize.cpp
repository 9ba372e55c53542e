// Explore, extract, and hold the result against the source: by price always, by the clock where
// prices are measured.
#include "compiler/driver/optimize.h"

#include "compiler/driver/explanation.h"
#include "compiler/driver/state_price.h"

#include "compiler/egraph/explain.h"
#include "compiler/ir/graph_equal.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <chrono>

#include <sys/resource.h>

namespace tg {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The most memory that this process has held so far.
double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

const char* search_name(Search search) {
  switch (search) {
  case Search::None: return "none";
  case Search::Saturate: return "saturate";
  case Search::Random: return "random";
  case Search::Mcts: return "mcts";
  case Search::Pact24: return "mcts (pact24)";
  case Search::Anneal: return "anneal";
  case Search::Taso: return "taso";
  }
  return "";
}

/// Operators that the outputs need and that each run computes.
size_t run_op_count(const Graph& graph) {
  std::vector<bool> needed = graph.reachable();
  size_t count = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (needed[i] && !node.weight_only && !op_info(node.op).has(Trait::Leaf)) ++count;
  }
  return count;
}

std::vector<RuleCount> named_counts(llvm::ArrayRef<RuleUse> uses, llvm::ArrayRef<Rule> rules) {
  std::vector<RuleCount> counts;
  for (const RuleUse& use : uses)
    if (use.rule < rules.size() && use.count > 0)
      counts.push_back({rules[use.rule].name, use.count});
  std::sort(counts.begin(), counts.end(), [](const RuleCount& a, const RuleCount& b) {
    return a.count != b.count ? a.count > b.count : a.rule < b.rule;
  });
  return counts;
}

void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   OptimizeReport& report) {
  for (size_t i = 0; i < stats.size() && i < rules.size(); ++i)
    if (stats[i].matches > 0)
      report.activity.push_back(
          {rules[i].name, rules[i].declared, stats[i].matches, stats[i].applied});
}

void note_exploration(const SaturateReport& explored, llvm::ArrayRef<Rule> rules,
                      OptimizeReport& report) {
  note_activity(explored.rules, rules, report);
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.stopped_by = stop_reason_text(explored.stop).str();
}

void note_extraction(const ExtractedGraph& extracted, llvm::ArrayRef<Rule> rules,
                     OptimizeReport& report) {
  report.extract_s = extracted.seconds;
  report.cost_after_us = extracted.cost_us;
  if (extracted.lower_bound_us > 0) report.lower_bound_us = extracted.lower_bound_us;
  report.optimal = extracted.optimal;
  report.rules_applied = named_counts(extracted.rules_used, rules);
  if (!extracted.note.empty()) report.notes.push_back(extracted.note);
}

/// The source is the answer; why, for a person.
Optimized keep_source(const Graph& source, OptimizeReport report, std::string why) {
  report.cost_after_us = report.cost_before_us;
  report.nodes_after = report.nodes_before;
  report.load_nodes_after = source.op_count() - report.nodes_before;
  report.rules_applied.clear();
  if (!why.empty()) report.notes.push_back(std::move(why));
  return {source, std::move(report)};
}

/// Runs both. The new graph has to be faster beyond the noise.
Optimized judge_by_clock(const Graph& source, Optimized optimized, FinalistRunner& finalists) {
  Clock::time_point start = Clock::now();
  Result<Comparison> compared = finalists.compare(source, optimized.graph);
  optimized.report.finalists_s += seconds_since(start);
  if (!compared) {
    // Too large to run here, perhaps; what operators cost is known all the same.
    optimized.report.notes.push_back("whole runs were not possible, the prices decide: " +
                                     compared.error().message);
    return optimized;
  }
  const Comparison& comparison = *compared;
  optimized.report.comparison = comparison;
  if (comparison.second_faster()) return optimized;
  optimized.report.source_returned = true;
  std::string why = llvm::formatv(
      "as measured, the new graph ({0} operators, {1:f1} us by the model) is {2} ({3:f2}x): the "
      "source is returned",
      optimized.report.nodes_after, optimized.report.cost_after_us,
      comparison.second_slower() ? "slower" : "not faster beyond the noise", comparison.ratio);
  OptimizeReport report = std::move(optimized.report);
  return keep_source(source, std::move(report), std::move(why));
}

/// Sums in another order may differ in the last digits.
bool costs_more(double cost_us, double than_us) { return cost_us > than_us * (1 + 1e-9); }

/// What another model's prices choose from the same e-graph, with its price under the model in use.
/// nullopt if that is dearer than the source, or fails.
std::optional<ExtractedGraph> other_finalist(const EGraph& egraph, const Graph& source,
                                             PriceCache& prices, CostModel& model,
                                             const OptimizeOptions& options) {
  PriceCache other_prices(source.symbols(), model);
  Result<ExtractedGraph> other = extract(egraph, source, other_prices, options.extract);
  if (!other) return std::nullopt;
  other->cost_us = price_graph(other->graph, prices);
  other->lower_bound_us = 0; // a bound under other prices
  other->optimal = false;
  if (costs_more(other->cost_us, price_graph(source, prices))) return std::nullopt;
  return std::move(*other);
}

/// Single prices carry noise that whole runs do not add up: of two finalists the faster goes on.
void prefer_faster(ExtractedGraph& first, ExtractedGraph second, const CostModel& by,
                   FinalistRunner& finalists, OptimizeReport& report) {
  if (difference(first.graph, second.graph).empty()) return;
  Clock::time_point start = Clock::now();
  Result<Comparison> compared = finalists.compare(first.graph, second.graph);
  report.finalists_s += seconds_since(start);
  if (!compared || !compared->second_faster()) return;
  report.notes.push_back(
      llvm::formatv("of two finalists the one that {0} prices chose runs faster, "
                    "by {1:f2}x",
                    by.name(), compared->ratio));
  first = std::move(second);
}

/// Random rollouts; what a state is worth is its greedy extraction.
void explore_randomly(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                      PriceCache& prices, const OptimizeOptions& options, OptimizeReport& report) {
  RolloutOptions rollout;
  rollout.rollouts = static_cast<int>(options.budget);
  rollout.depth = static_cast<int>(options.depth);
  rollout.node_limit = options.explore.node_limit;
  rollout.time_limit_s = options.explore.time_limit_s;
  rollout.seed = options.explore.seed;
  rollout.cycle_filter = options.explore.cycle_filter;
  rollout.numerics = options.explore.numerics;
  ExtractOptions greedy = options.extract;
  greedy.extractor = Extractor::Greedy;
  RolloutReport explored = search_rollouts(egraph, rules, rollout, [&](const EGraph& state) {
    Result<ExtractedGraph> extracted = extract(state, source, prices, greedy);
    return extracted ? extracted->cost_us : kInfiniteCost;
  });
  note_activity(explored.rules, rules, report);
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.stopped_by =
      explored.stop == StopReason::Iterations ? "budget" : stop_reason_text(explored.stop).str();
}

/// The published tree search; what a state is worth is as its options say.
void explore_as_published(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                          PriceCache& prices, const OptimizeOptions& options,
                          OptimizeReport& report) {
  Pact24Options pact = options.pact24;
  pact.explore.node_limit = options.explore.node_limit;
  pact.explore.cycle_filter = options.explore.cycle_filter;
  pact.explore.numerics = options.explore.numerics;
  pact.explore.match_limit = std::max<size_t>(options.explore.node_limit, 1);
  pact.time_limit_s = options.explore.time_limit_s;
  pact.seed = options.explore.seed;
  pact.cancel = options.explore.cancel;
  pact.trace = options.trace;
  std::unique_ptr<StatePrice> price =
      make_state_price(options.reward, egraph, source, prices, options.extract);
  Pact24Report explored = search_pact24(egraph, rules, pact, *price);
  note_activity(explored.rules, rules, report);
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.simulations = explored.simulations;
  report.decisions = static_cast<size_t>(explored.decisions);
  report.search_memory_mb = static_cast<double>(explored.memory_bytes) / (1 << 20);
  report.stopped_by =
      explored.stop == StopReason::Iterations ? "decisions" : stop_reason_text(explored.stop).str();
}

/// Grows the e-graph as the options say.
void explore(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
             const OptimizeOptions& options, OptimizeReport& report) {
  switch (options.search) {
  case Search::Random: return explore_randomly(egraph, source, rules, prices, options, report);
  case Search::Pact24: return explore_as_published(egraph, source, rules, prices, options, report);
  case Search::None:
    report.egraph_nodes = egraph.node_count();
    report.egraph_classes = egraph.class_count();
    report.stopped_by = "no search";
    return;
  default: {
    SaturateReport explored = saturate(egraph, rules, options.explore);
    if (options.trace)
      for (size_t i = 0; i < explored.rules.size(); ++i)
        options.trace->apply(static_cast<RuleId>(i), explored.rules[i].applied);
    return note_exploration(explored, rules, report);
  }
  }
}

/// Searches in one e-graph are one step from source to result.
void note_steps(SearchTrace* trace, const OptimizeReport& report) {
  if (!trace) return;
  if (trace->points.empty()) trace->points = {{0, report.cost_before_us, 0, 0, "source"}};
  trace->points.push_back({report.explore_s + report.extract_s, report.cost_after_us,
                           report.simulations, report.egraph_nodes, "result"});
  if (!trace->steps.empty() || report.rules_applied.empty()) return;
  SearchTrace::Step step{"whole network", {}, report.cost_before_us, report.cost_after_us};
  for (const RuleCount& rule : report.rules_applied) step.rules.push_back({rule.rule, rule.count});
  trace->steps.push_back(std::move(step));
}

/// What a search came to, before it is held against the source.
struct Candidate {
  Graph graph;
  double cost_us = 0;
  std::optional<Derivation> chain = {};
  std::string unexplained = {};

  void tell(Result<Derivation> found) {
    if (found)
      chain = std::move(*found);
    else
      unexplained = found.error().message;
  }
};

Candidate explained(Candidate candidate, const EGraph& egraph, llvm::ArrayRef<Rule> rules,
                    const Graph& source) {
  if (egraph.recording())
    candidate.tell(explain(history_of(egraph), rules, source, candidate.graph));
  return candidate;
}

/// One e-graph, grown and then extracted from.
Result<Candidate> optimize_in_one(const Graph& source, llvm::ArrayRef<Rule> rules,
                                  PriceCache& prices, const OptimizeOptions& options,
                                  FinalistRunner* finalists, CostModel* second_opinion,
                                  OptimizeReport& report) {
  EGraph egraph = EGraph::from_graph(source);
  if (options.explain) egraph.record_history();
  explore(egraph, source, rules, prices, options, report);
  if (options.search == Search::Pact24 && !options.final_ilp) {
    PublishedCost found = published_cost(options.reward, egraph, prices);
    Graph graph = graph_of(egraph, source, found.nodes);
    report.extract = options.reward == Reward::Greedy ? "greedy" : "greedy-shared";
    double cost = report.cost_after_us = price_graph(graph, prices);
    return explained({std::move(graph), cost}, egraph, rules, source);
  }
  TG_TRY(ExtractedGraph extracted, extract(egraph, source, prices, options.extract));
  if (finalists && second_opinion)
    if (auto other = other_finalist(egraph, source, prices, *second_opinion, options))
      prefer_faster(extracted, std::move(*other), *second_opinion, *finalists, report);
  note_extraction(extracted, rules, report);
  return explained({std::move(extracted.graph), extracted.cost_us}, egraph, rules, source);
}

PortfolioOptions portfolio_options(const OptimizeOptions& options) {
  PortfolioOptions out = options.portfolio;
  out.saturate = options.explore;
  out.extract = options.extract;
  out.explain = options.explain;
  MctsOptions& mcts = out.mcts;
  mcts.explore.node_limit = options.explore.node_limit;
  mcts.explore.numerics = options.explore.numerics;
  mcts.explore.cycle_filter = CycleFilter::Efficient; // the incumbent needs it
  mcts.memory_limit_mb = options.explore.memory_limit_mb;
  mcts.time_limit_s = options.explore.time_limit_s;
  mcts.seed = options.explore.seed;
  mcts.cancel = options.explore.cancel;
  mcts.trace = options.trace;
  return out;
}

/// Move by move from the source to the best.
Result<Derivation> explain_moves(const Graph& source, const MoveMade* last,
                                 llvm::ArrayRef<Rule> rules) {
  std::vector<const MoveMade*> moves;
  for (; last; last = last->earlier.get()) moves.push_back(last);
  Derivation chain = derivation_of(source);
  for (const MoveMade* move : llvm::reverse(moves)) {
    TG_TRY(Derivation next, explain(move->history, rules, move->before, move->after));
    append(chain, next);
  }
  cut_loops(chain);
  return chain;
}

/// The searches without an e-graph that grows.
Candidate optimize_locally(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                           const OptimizeOptions& options, OptimizeReport& report) {
  LocalOptions local = options.local;
  local.explore.numerics = options.explore.numerics;
  local.explore.node_limit = options.explore.node_limit;
  local.time_limit_s = options.explore.time_limit_s;
  local.seed = options.explore.seed;
  local.cancel = options.explore.cancel;
  local.trace = options.trace;
  local.explain = options.explain;
  LocalReport found = options.search == Search::Taso ? search_taso(source, rules, prices, local)
                                                     : search_anneal(source, rules, prices, local);
  note_activity(found.rules, rules, report);
  for (auto [rule, count] : found.rules_applied)
    report.rules_applied.push_back({rules[rule].name, count});
  llvm::stable_sort(report.rules_applied,
                    [](const RuleCount& a, const RuleCount& b) { return a.count > b.count; });
  report.extract = "none";
  report.egraph_nodes = found.most_nodes;
  report.egraphs = found.graphs;
  report.simulations = found.moves;
  report.explore_s = found.seconds;
  report.cost_after_us = found.best_cost;
  report.stopped_by =
      found.stop == StopReason::Iterations ? "budget" : stop_reason_text(found.stop).str();
  Candidate candidate{std::move(found.best), found.best_cost};
  if (options.explain) candidate.tell(explain_moves(source, found.last_move.get(), rules));
  return candidate;
}

/// The search that we ship.
Candidate optimize_by_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                                const OptimizeOptions& options, OptimizeReport& report) {
  PortfolioReport found = search_portfolio(source, rules, costs, portfolio_options(options));
  note_activity(found.rules, rules, report);
  for (const auto& [name, count] : found.rules_applied)
    report.rules_applied.push_back({name, count});
  llvm::stable_sort(report.rules_applied,
                    [](const RuleCount& a, const RuleCount& b) { return a.count > b.count; });
  report.egraph_nodes = found.most_nodes;
  report.egraph_classes = found.most_classes;
  report.extract_s = found.extract_s;
  report.explore_s = std::max(found.seconds - found.extract_s, 0.0);
  report.simulations = found.simulations;
  report.egraphs = found.egraphs;
  report.stretches = found.stretches;
  report.distinct_stretches = found.distinct_stretches;
  report.search_memory_mb = static_cast<double>(found.memory_bytes) / (1 << 20);
  report.cost_after_us = found.cost_us;
  if (found.bound_us > 0) report.lower_bound_us = std::min(found.bound_us, found.cost_us);
  report.learned = std::move(found.learned);
  report.stopped_by =
      found.stop == StopReason::Saturated ? "no more gain" : stop_reason_text(found.stop).str();
  if (found.slices_used_up > 0)
    report.notes.push_back(
        llvm::formatv("{0} extractions ended by the clock", found.slices_used_up));
  return {std::move(found.graph), found.cost_us, std::move(found.chain),
          std::move(found.unexplained)};
}

} // namespace

Result<Optimized> optimize(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                           const OptimizeOptions& options, FinalistRunner* finalists,
                           CostModel* second_opinion) {
  Clock::time_point start = Clock::now();
  OptimizeReport report;
  report.model = source.name();
  report.search = search_name(options.search);
  report.extract = extractor_name(options.extract.extractor).str();
  report.cost_model = costs.name();
  report.seed = options.explore.seed;
  report.rules = static_cast<size_t>(llvm::count_if(
      rules, [&](const Rule& rule) { return rule.numerics <= options.explore.numerics; }));
  report.nodes_before = report.nodes_after = run_op_count(source);
  PriceCache prices(source.symbols(), costs);
  report.cost_before_us = price_graph(source, prices);

  std::optional<Candidate> candidate;
  if (options.search == Search::Mcts) {
    candidate = optimize_by_portfolio(source, rules, costs, options, report);
  } else if (options.search == Search::Anneal || options.search == Search::Taso) {
    candidate = optimize_locally(source, rules, prices, options, report);
  } else {
    TG_TRY(candidate,
           optimize_in_one(source, rules, prices, options, finalists, second_opinion, report));
  }
  Candidate& extracted = *candidate;
  note_steps(options.trace, report);
#ifdef TG_VERIFY
  if (std::string fault = verify(extracted.graph); !fault.empty())
    return error(Code::internal, "the optimised graph of `{0}` is not well formed: {1}",
                 source.name(), fault);
#endif
  report.nodes_after = run_op_count(extracted.graph);
  report.load_nodes_after = extracted.graph.op_count() - report.nodes_after;

  bool changed = report.changed = !difference(source, extracted.graph).empty();
  bool worse = changed && costs_more(extracted.cost_us, report.cost_before_us);
  Optimized result = !changed || worse
                         ? keep_source(source, std::move(report),
                                       worse ? "nothing found costs less than the source" : "")
                         : Optimized{std::move(extracted.graph), std::move(report)};
  if (finalists && changed && !worse)
    result = judge_by_clock(source, std::move(result), *finalists);
  if (options.explain) {
    bool is_source = !changed || worse || result.report.source_returned;
    result.chain = is_source ? derivation_of(source) : std::move(extracted.chain);
    result.unexplained = is_source ? "" : extracted.unexplained;
    if (result.chain) result.report.rules_applied = count_rules(*result.chain, rules);
  }
  llvm::append_range(result.report.notes, costs.notes());
  result.report.total_s = seconds_since(start);
  result.report.peak_memory_mb = peak_memory_mb();
  return result;
}

} // namespace tg
