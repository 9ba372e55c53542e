// Each search reports in its own words; here they become one candidate and one report.
#include "compiler/driver/candidate.h"

#include "compiler/driver/explanation.h"
#include "compiler/driver/explore.h"
#include "compiler/driver/group_refinement.h"
#include "compiler/driver/kernel_chain.h"
#include "compiler/driver/state_price.h"

#include "compiler/egraph/explain.h"
#include "compiler/ir/graph_equal.h"
#include "compiler/search/published_costs.h"
#include "lang/core/stopwatch.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

void Candidate::tell(Result<Derivation> found) {
  if (found)
    chain = std::move(*found);
  else
    unexplained = found.error().message;
}

namespace {

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

void note_extraction(const ExtractedGraph& extracted, llvm::ArrayRef<Rule> rules,
                     OptimizeReport& report) {
  report.extract_s = extracted.seconds;
  report.cost_after_us = extracted.cost_us;
  if (extracted.lower_bound_us > 0) report.lower_bound_us = extracted.lower_bound_us;
  report.optimal = extracted.optimal;
  report.cut_extractions += extracted.out_of_time;
  report.rules_applied = named_counts(extracted.rules_used, rules);
  if (!extracted.note.empty()) report.notes.push_back(extracted.note);
}

void add_count(OptimizeReport& report, const RuleCount& more) {
  auto known = llvm::find_if(report.rules_applied,
                             [&](const RuleCount& row) { return row.rule == more.rule; });
  if (known == report.rules_applied.end())
    report.rules_applied.push_back(more);
  else
    known->count += more.count;
}

/// Named rules as a report has them, most often used first.
std::vector<RuleCount> rule_counts(llvm::ArrayRef<std::pair<std::string, size_t>> counts) {
  std::vector<RuleCount> out;
  for (const auto& [name, count] : counts) out.push_back({name, count});
  llvm::stable_sort(out, [](const RuleCount& a, const RuleCount& b) { return a.count > b.count; });
  return out;
}

void note_rules(llvm::ArrayRef<std::pair<std::string, size_t>> counts, OptimizeReport& report) {
  report.rules_applied = rule_counts(counts);
}

// --- finalists ----------------------------------------------------------------------------------

/// Whether of two finalists the second, which the second opinion chose, runs faster.
bool other_is_faster(const Graph& first, const Graph& other, const Judges& judges,
                     OptimizeReport& report) {
  if (difference(first, other).empty()) return false;
  Stopwatch watch;
  Result<WholeRuns> runs = judges.finalists->compare(first, other);
  report.finalists_s += watch.seconds();
  if (!runs || !runs->fault.empty() || !runs->times.second_faster()) return false;
  report.notes.push_back(llvm::formatv("of two finalists the one that {0} prices chose runs "
                                       "faster, by {1:f2}x",
                                       judges.second_opinion->name(), runs->times.ratio));
  return true;
}

bool has_second_opinion(const Judges& judges) { return judges.finalists && judges.second_opinion; }

/// What another model's prices choose from the same e-graph, with its price under the model in use.
/// nullopt if that is dearer than the source, or fails.
std::optional<ExtractedGraph> other_finalist(const EGraph& egraph, const Graph& source,
                                             const Judges& judges, const OptimizeOptions& options) {
  PriceCache other_prices(source.symbols(), *judges.second_opinion);
  Result<ExtractedGraph> other = extract(egraph, source, other_prices, options.extract);
  if (!other) return std::nullopt;
  other->cost_us = price_graph(other->graph, judges.prices);
  other->lower_bound_us = 0; // a bound under other prices
  other->optimal = false;
  if (costs_more(other->cost_us, price_graph(source, judges.prices))) return std::nullopt;
  return std::move(*other);
}

// --- one e-graph --------------------------------------------------------------------------------

Candidate explained(Candidate candidate, const EGraph& egraph, llvm::ArrayRef<Rule> rules,
                    const Graph& source) {
  if (egraph.recording())
    candidate.tell(explain(history_of(egraph), rules, source, candidate.graph));
  return candidate;
}

/// Tells how an extraction goes to whoever follows the search, and ends it where the user does. A
/// search that was ended before leaves little time to it.
ExtractOptions followed(const OptimizeOptions& options, const OptimizeReport& report) {
  constexpr double kAfterCancel = 1; // seconds
  ExtractOptions out = options.extract;
  const std::atomic<bool>* cancel = options.explore.cancel;
  bool cancelled = cancel && cancel->load();
  if (cancelled) out.ilp.time_limit_s = std::min(out.ilp.time_limit_s, kAfterCancel);
  if (cancelled || !cancel) cancel = nullptr;
  auto tell = options.portfolio.progress;
  if (!tell && !cancel) return out;
  SearchProgress now;
  now.time_limit_s = out.ilp.time_limit_s;
  now.source_us = now.best_us = report.cost_before_us;
  now.nodes = report.egraph_nodes;
  now.where = "extraction";
  out.ilp.stop = [tell, cancel, now](const ExtractionProgress& progress) mutable {
    now.seconds = progress.seconds;
    now.best_us = std::min(now.best_us, progress.dag_cost);
    now.bound_us = std::max(now.bound_us, progress.lower_bound);
    if (tell) tell(now);
    return cancel && cancel->load();
  };
  return out;
}

/// Whoever follows the search is told what came of it. `bound_us` 0: there is none.
void tell_extracted(double cost_us, double bound_us, const OptimizeOptions& options,
                    const OptimizeReport& report) {
  if (!options.portfolio.progress) return;
  SearchProgress now{report.explore_s + report.extract_s,
                     options.extract.ilp.time_limit_s,
                     report.cost_before_us,
                     cost_us,
                     std::min(bound_us, cost_us),
                     report.egraph_nodes};
  now.where = "extraction";
  options.portfolio.progress(now);
}

/// Extracts with what the device does in one kernel, as far as the rules in use lead there; then
/// `kernels` says how. Errors: `no_solution`.
Result<ExtractedGraph> extract_kernels(const EGraph& egraph, const Graph& source,
                                       llvm::ArrayRef<Rule> rules, PriceCache& prices,
                                       const OptimizeOptions& options,
                                       const ExtractOptions& extraction,
                                       std::optional<Derivation>& kernels) {
  ExtractOptions with = extraction;
  with.kernels =
      options.kernels && (options.search == Search::Saturate || options.search == Search::Random);
  TG_TRY(ExtractedGraph extracted, extract(egraph, source, prices, with));
  if (!extracted.plain) return extracted;
  Result<Derivation> chain =
      explain_kernels(*extracted.plain, extracted.graph, rules, options.explore.numerics);
  if (!chain) return extract(egraph, source, prices, extraction);
  kernels = std::move(*chain);
  return extracted;
}

/// What other extractors choose from the same e-graph.
void extract_others(const EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                    const Judges& judges, const OptimizeOptions& options) {
  for (Extractor extractor : {Extractor::Greedy, Extractor::GreedyShared, Extractor::GreedyDag}) {
    if (extractor == options.extract.extractor) continue;
    ExtractOptions other = options.extract;
    other.extractor = extractor;
    Result<ExtractedGraph> found = extract(egraph, source, judges.prices, other);
    if (!found) continue;
    Candidate candidate =
        explained({std::move(found->graph), found->cost_us}, egraph, rules, source);
    candidate.rules = named_counts(found->rules_used, rules);
    judges.others->push_back(std::move(candidate));
  }
}

/// One e-graph, grown and then extracted from.
Result<Candidate> optimize_in_one(const Graph& source, llvm::ArrayRef<Rule> rules,
                                  const Judges& judges, const OptimizeOptions& options,
                                  OptimizeReport& report) {
  PriceCache& prices = judges.prices;
  EGraph egraph = EGraph::from_graph(source);
  if (options.explain) egraph.record_history();
  explore(egraph, source, rules, prices, options, report);
  if (options.search == Search::Pact24 && !options.final_ilp) {
    PublishedCost found = published_cost(options.reward, egraph, prices);
    Graph graph = graph_of(egraph, source, found.nodes);
    report.extract = options.reward == Reward::Greedy ? "greedy" : "greedy-shared";
    double cost = report.cost_after_us = price_graph(graph, prices);
    tell_extracted(cost, 0, options, report);
    return explained({std::move(graph), cost}, egraph, rules, source);
  }
  std::optional<Derivation> kernels;
  TG_TRY(ExtractedGraph extracted, extract_kernels(egraph, source, rules, prices, options,
                                                   followed(options, report), kernels));
  if (has_second_opinion(judges))
    if (auto other = other_finalist(egraph, source, judges, options);
        other && other_is_faster(extracted.graph, other->graph, judges, report)) {
      extracted = std::move(*other);
      kernels.reset();
    }
  if (judges.others) extract_others(egraph, source, rules, judges, options);
  if (judges.groups && !kernels)
    refine_extracted(egraph, source, judges, options, extracted, report);
  note_extraction(extracted, rules, report);
  tell_extracted(extracted.cost_us, extracted.lower_bound_us, options, report);
  if (!kernels)
    return explained({std::move(extracted.graph), extracted.cost_us}, egraph, rules, source);
  for (const RuleCount& fusing : count_rules(*kernels, rules)) add_count(report, fusing);
  Candidate candidate = explained({*extracted.plain, extracted.cost_us}, egraph, rules, source);
  candidate.graph = std::move(extracted.graph);
  if (candidate.chain) append(*candidate.chain, *kernels);
  return candidate;
}

// --- over graphs --------------------------------------------------------------------------------

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
  local.memory_limit_mb = options.explore.memory_limit_mb;
  local.seed = options.explore.seed;
  local.cancel = options.explore.cancel;
  local.trace = options.trace;
  local.explain = options.explain;
  local.progress = options.portfolio.progress;
  LocalReport found = options.search == Search::Taso ? search_taso(source, rules, prices, local)
                                                     : search_anneal(source, rules, prices, local);
  note_activity(found.rules, rules, report);
  std::vector<std::pair<std::string, size_t>> counts;
  for (auto [rule, count] : found.rules_applied) counts.push_back({rules[rule].name, count});
  note_rules(counts, report);
  report.extract = "none";
  report.egraph_nodes = found.most_nodes;
  report.egraphs = found.graphs;
  report.simulations = found.moves;
  report.search_memory_mb = static_cast<double>(found.memory_bytes) / (1 << 20);
  report.explore_s = found.seconds;
  report.cost_after_us = found.best_cost;
  report.stopped_by =
      found.stop == StopReason::Iterations ? "budget" : stop_reason_text(found.stop).str();
  Candidate candidate{std::move(found.best), found.best_cost};
  if (options.explain) candidate.tell(explain_moves(source, found.last_move.get(), rules));
  return candidate;
}

// --- the portfolio ------------------------------------------------------------------------------

PortfolioOptions portfolio_options(const OptimizeOptions& options) {
  PortfolioOptions out = options.portfolio;
  out.saturate = options.explore;
  out.extract = options.extract;
  out.explain = options.explain;
  // More than are measured: which are is for choose_finalist() to say.
  out.finalists = options.finalists > 1 ? 4 * options.finalists : 0;
  MctsOptions& mcts = out.mcts;
  mcts.explore.numerics = options.explore.numerics;
  mcts.explore.cycle_filter = CycleFilter::Efficient; // the incumbent needs it
  mcts.memory_limit_mb = options.explore.memory_limit_mb;
  mcts.time_limit_s = options.explore.time_limit_s;
  mcts.seed = options.explore.seed;
  mcts.cancel = options.explore.cancel;
  mcts.trace = options.trace;
  return out;
}

void note_portfolio(PortfolioReport& found, OptimizeReport& report) {
  report.egraph_nodes = found.most_nodes;
  report.egraph_classes = found.most_classes;
  report.extract_s = found.extract_s;
  report.explore_s = std::max(found.seconds - found.extract_s, 0.0);
  report.decisions = found.decisions;
  report.simulations = found.simulations;
  report.egraphs = found.egraphs;
  report.stretches = found.stretches;
  report.distinct_stretches = found.distinct_stretches;
  report.search_memory_mb = static_cast<double>(found.memory_bytes) / (1 << 20);
  report.cost_after_us = found.cost_us;
  report.bounds = found.bounds;
  if (!found.bounds.empty()) {
    const GraphBound& bound = found.bounds.front();
    report.lower_bound_us = std::min(bound.lower_us, found.cost_us);
    report.optimal = bound.optimal();
  }
  report.learned = std::move(found.learned);
  report.stopped_by =
      found.stop == StopReason::Saturated ? "no more gain" : stop_reason_text(found.stop).str();
  note_cut_extractions(found.slices_used_up, report);
}

/// What the same search finds by the second opinion's prices, priced by those in use; with the
/// rules in it. nullopt if that is dearer than the source.
std::optional<std::pair<Candidate, std::vector<std::pair<std::string, size_t>>>>
other_search(const Graph& source, llvm::ArrayRef<Rule> rules, const Judges& judges,
             const OptimizeOptions& options) {
  PortfolioOptions portfolio = portfolio_options(options);
  portfolio.mcts.trace = nullptr;
  PortfolioReport found = search_portfolio(source, rules, *judges.second_opinion, portfolio);
  double cost = price_graph(found.graph, judges.prices);
  if (costs_more(cost, price_graph(source, judges.prices))) return std::nullopt;
  return std::make_pair(
      Candidate{std::move(found.graph), cost, std::move(found.chain), std::move(found.unexplained)},
      std::move(found.rules_applied));
}

/// What the device does in one kernel and the search has not come to.
void add_kernels(Candidate& candidate, llvm::ArrayRef<Rule> rules, const Judges& judges,
                 const OptimizeOptions& options, OptimizeReport& report) {
  if (!options.kernels) return;
  std::optional<WithKernels> with =
      use_kernels(candidate.graph, rules, judges.prices, options.explore.numerics);
  if (!with) return;
  SearchTrace::Step step{"kernels of the device", {}, candidate.cost_us, with->cost_us};
  for (const RuleCount& fusing : count_rules(with->chain, rules)) {
    add_count(report, fusing);
    step.rules.push_back({fusing.rule, fusing.count});
  }
  if (options.trace) options.trace->steps.push_back(std::move(step));
  candidate.graph = std::move(with->graph);
  report.cost_after_us = candidate.cost_us = with->cost_us;
  report.forget_bounds(); // of e-graphs without it
  if (candidate.chain) append(*candidate.chain, with->chain);
}

/// The search that we ship. Errors: `no_solution` where neither source nor anything found has a
/// finite cost.
Result<Candidate> optimize_by_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules,
                                        const Judges& judges, const OptimizeOptions& options,
                                        OptimizeReport& report) {
  PortfolioReport found = search_portfolio(source, rules, judges.costs, portfolio_options(options));
  if (!std::isfinite(found.cost_us)) { // an extraction says which output it is
    EGraph egraph = EGraph::from_graph(source);
    TG_CHECK(extract(egraph, source, judges.prices, options.extract));
  }
  note_activity(found.rules, rules, report);
  note_rules(found.rules_applied, report);
  note_portfolio(found, report);
  Candidate candidate{std::move(found.graph), found.cost_us, std::move(found.chain),
                      std::move(found.unexplained)};
  if (judges.others)
    for (PortfolioFinalist& other : found.finalists)
      judges.others->push_back({std::move(other.graph), other.cost_us, std::move(other.chain), "",
                                rule_counts(other.rules_applied)});
  add_kernels(candidate, rules, judges, options, report);
  if (!has_second_opinion(judges)) return candidate;
  auto other = other_search(source, rules, judges, options);
  if (!other || !other_is_faster(candidate.graph, other->first.graph, judges, report))
    return candidate;
  note_rules(other->second, report);
  report.cost_after_us = other->first.cost_us;
  report.forget_bounds(); // on the other's way
  add_kernels(other->first, rules, judges, options, report);
  return std::move(other->first);
}

} // namespace

Result<Candidate> find_candidate(const Graph& source, llvm::ArrayRef<Rule> rules,
                                 const Judges& judges, const OptimizeOptions& options,
                                 OptimizeReport& report) {
  switch (options.search) {
  case Search::Mcts: return optimize_by_portfolio(source, rules, judges, options, report);
  case Search::Anneal:
  case Search::Taso: return optimize_locally(source, rules, judges.prices, options, report);
  default: return optimize_in_one(source, rules, judges, options, report);
  }
}

} // namespace tg
