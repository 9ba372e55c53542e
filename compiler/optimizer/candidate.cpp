// Each search reports in its own words; here they become one candidate and one report.
#include "compiler/optimizer/candidate.h"

#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/explore.h"
#include "compiler/optimizer/group_refinement.h"
#include "compiler/optimizer/kernel_chain.h"
#include "compiler/optimizer/state_price.h"

#include "compiler/egraph/explain.h"
#include "compiler/search/published_costs.h"

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

void add_count(std::vector<RuleCount>& rules, const RuleCount& more) {
  auto known = llvm::find_if(rules, [&](const RuleCount& row) { return row.rule == more.rule; });
  if (known == rules.end())
    rules.push_back(more);
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

// --- finalists ----------------------------------------------------------------------------------

/// More are kept than are measured: which are is for choose_finalist() to say.
constexpr size_t kKeptForEach = 4;

bool has_second_opinion(const Judges& judges) { return judges.others && judges.second_opinion; }

/// What another model's prices choose from the same e-graph, with its price under the model in use.
/// nullopt if that is dearer than the source, or fails.
std::optional<ExtractedGraph> other_finalist(const EGraph& egraph, const Graph& source,
                                             const Judges& judges, const OptimizeOptions& options) {
  PriceCache other_prices(source.symbols(), *judges.second_opinion);
  Result<ExtractedGraph> other = extract(egraph, source, other_prices, options.extract);
  if (!other) return std::nullopt;
  other->cost_us = price_graph(other->graph, judges.prices);
  if (costs_more(other->cost_us, price_graph(source, judges.prices))) return std::nullopt;
  return std::move(*other);
}

// --- one e-graph --------------------------------------------------------------------------------

StopToken end_of_explaining(const OptimizeOptions& options) {
  constexpr double kMemory = 0.6; // what is found is then trimmed, beside what it was found in
  return options.stop.with_memory(kMemory).with_grace(kGraceOfExplanation);
}

Candidate explained(Candidate candidate, const EGraph& egraph, llvm::ArrayRef<Rule> rules,
                    const Graph& source, const OptimizeOptions& options) {
  if (egraph.recording())
    candidate.tell(
        explain(history_of(egraph), rules, source, candidate.graph, end_of_explaining(options)));
  return candidate;
}

/// Tells how an extraction goes to whoever follows the search.
ExtractOptions followed(const OptimizeOptions& options, const OptimizeReport& report) {
  ExtractOptions out = options.extract;
  auto tell = options.portfolio.progress;
  if (!tell) return out;
  SearchProgress now;
  now.time_limit_s = out.ilp.time_limit_s;
  now.source_us = now.best_us = report.cost_before_us;
  now.nodes = report.egraph_nodes;
  now.where = "extraction";
  out.ilp.stop = [tell, now](const ExtractionProgress& progress) mutable {
    now.seconds = progress.seconds;
    now.best_us = std::min(now.best_us, progress.dag_cost);
    now.bound_us = std::max(now.bound_us, progress.lower_bound);
    tell(now);
    return false;
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

/// What the second opinion and other extractors choose from the same e-graph.
void extract_others(const EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                    const Judges& judges, const OptimizeOptions& options) {
  auto keep = [&](ExtractedGraph found, std::string chosen_by) {
    Candidate candidate =
        explained({std::move(found.graph), found.cost_us}, egraph, rules, source, options);
    candidate.rules = named_counts(found.rules_used, rules);
    candidate.chosen_by = std::move(chosen_by);
    judges.others->push_back(std::move(candidate));
  };
  if (has_second_opinion(judges))
    if (auto found = other_finalist(egraph, source, judges, options))
      keep(std::move(*found), judges.second_opinion->name());
  for (Extractor extractor : {Extractor::Greedy, Extractor::GreedyShared, Extractor::GreedyDag}) {
    if (extractor == options.extract.extractor) continue;
    ExtractOptions other = options.extract;
    other.extractor = extractor;
    if (auto found = extract(egraph, source, judges.prices, other)) keep(std::move(*found), "");
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
    PublishedCost found = published_cost(options.reward, egraph, prices, options.extract.stop);
    bool stopped = found.cost_us == kInfiniteCost && options.extract.stop.asked();
    Graph graph = stopped ? source : graph_of(egraph, source, found.nodes);
    report.extract = options.reward == Reward::Greedy ? "greedy" : "greedy-shared";
    double cost = report.cost_after_us = price_graph(graph, prices);
    tell_extracted(cost, 0, options, report);
    return explained({std::move(graph), cost}, egraph, rules, source, options);
  }
  std::optional<Derivation> kernels;
  TG_TRY(ExtractedGraph extracted, extract_kernels(egraph, source, rules, prices, options,
                                                   followed(options, report), kernels));
  if (judges.others) extract_others(egraph, source, rules, judges, options);
  if (judges.groups && !kernels)
    refine_extracted(egraph, source, judges, options, extracted, report);
  note_extraction(extracted, rules, report);
  tell_extracted(extracted.cost_us, extracted.lower_bound_us, options, report);
  if (!kernels)
    return explained({std::move(extracted.graph), extracted.cost_us}, egraph, rules, source,
                     options);
  for (const RuleCount& fusing : count_rules(*kernels, rules))
    add_count(report.rules_applied, fusing);
  Candidate candidate =
      explained({*extracted.plain, extracted.cost_us}, egraph, rules, source, options);
  candidate.graph = std::move(extracted.graph);
  if (candidate.chain) append(*candidate.chain, *kernels);
  return candidate;
}

// --- over graphs --------------------------------------------------------------------------------

/// Move by move from the source to the best.
Result<Derivation> explain_moves(const Graph& source, const MoveMade* last,
                                 llvm::ArrayRef<Rule> rules, const StopToken& stop) {
  std::vector<const MoveMade*> moves;
  for (; last; last = last->earlier.get()) moves.push_back(last);
  Derivation chain = derivation_of(source);
  for (const MoveMade* move : llvm::reverse(moves)) {
    TG_TRY(Derivation next, explain(move->history, rules, move->before, move->after, stop));
    append(chain, next);
  }
  trim(chain);
  return chain;
}

std::vector<RuleCount> counts_on_path(llvm::ArrayRef<std::pair<RuleId, size_t>> path,
                                      llvm::ArrayRef<Rule> rules) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (auto [rule, count] : path) counts.push_back({rules[rule].name, count});
  return rule_counts(counts);
}

/// The searches without an e-graph that grows.
Candidate optimize_locally(const Graph& source, llvm::ArrayRef<Rule> rules, const Judges& judges,
                           const OptimizeOptions& options, OptimizeReport& report) {
  LocalOptions local = options.local;
  local.finalists = judges.others ? kKeptForEach * options.finalists : 0;
  local.explore.numerics = options.explore.numerics;
  local.explore.node_limit = options.explore.node_limit;
  local.time_limit_s = options.explore.time_limit_s;
  local.memory_limit_mb = options.explore.memory_limit_mb;
  local.seed = options.explore.seed;
  local.stop = options.explore.stop;
  local.trace = options.trace;
  local.explain = options.explain;
  local.progress = options.portfolio.progress;
  LocalReport found = options.search == Search::Taso
                          ? search_taso(source, rules, judges.prices, local)
                          : search_anneal(source, rules, judges.prices, local);
  note_activity(found.rules, rules, report);
  report.rules_applied = counts_on_path(found.rules_applied, rules);
  report.extract = "none";
  report.egraph_nodes = found.most_nodes;
  report.egraphs = found.graphs;
  report.simulations = found.moves;
  report.search_memory_mb = static_cast<double>(found.memory_bytes) / (1 << 20);
  report.explore_s = found.seconds;
  report.cost_after_us = found.best_cost;
  report.stopped_by =
      found.stop == StopReason::Iterations ? "budget" : stop_reason_text(found.stop).str();
  auto candidate = [&](Graph graph, double cost_us, const MoveMade* last) {
    Candidate out{std::move(graph), cost_us};
    if (options.explain) out.tell(explain_moves(source, last, rules, end_of_explaining(options)));
    return out;
  };
  for (LocalFinalist& other : found.finalists) {
    judges.others->push_back(
        candidate(std::move(other.graph), other.cost_us, other.last_move.get()));
    judges.others->back().rules = counts_on_path(other.rules_applied, rules);
  }
  return candidate(std::move(found.best), found.best_cost, found.last_move.get());
}

// --- the portfolio ------------------------------------------------------------------------------

PortfolioOptions portfolio_options(const OptimizeOptions& options, size_t finalists) {
  PortfolioOptions out = options.portfolio;
  out.saturate = options.explore;
  out.extract = options.extract;
  out.explain = options.explain;
  out.explaining = end_of_explaining(options);
  out.finalists = finalists;
  MctsOptions& mcts = out.mcts;
  mcts.explore.numerics = options.explore.numerics;
  mcts.explore.cycle_filter = CycleFilter::Efficient; // the incumbent needs it
  mcts.memory_limit_mb = options.explore.memory_limit_mb;
  mcts.time_limit_s = options.explore.time_limit_s;
  mcts.seed = options.explore.seed;
  mcts.stop = options.explore.stop;
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

/// What the same search finds by the second opinion's prices, priced by those in use.
Candidate other_search(const Graph& source, llvm::ArrayRef<Rule> rules, const Judges& judges,
                       const OptimizeOptions& options) {
  PortfolioOptions portfolio = portfolio_options(options, 0);
  portfolio.mcts.trace = nullptr;
  PortfolioReport found = search_portfolio(source, rules, *judges.second_opinion, portfolio);
  double cost = price_graph(found.graph, judges.prices);
  return {std::move(found.graph),           cost,
          std::move(found.chain),           std::move(found.unexplained),
          rule_counts(found.rules_applied), judges.second_opinion->name()};
}

/// The best takes the kernels that the search has not come to, as a step of its own.
void complete_best(Candidate& best, llvm::ArrayRef<Rule> rules, const Judges& judges,
                   const OptimizeOptions& options, OptimizeReport& report) {
  SearchTrace::Step step{"kernels of the device", {}, best.cost_us};
  std::vector<RuleCount> added = add_kernels(best, rules, judges.prices, options);
  if (added.empty()) return;
  for (const RuleCount& fusing : added) {
    add_count(report.rules_applied, fusing);
    step.rules.push_back({fusing.rule, fusing.count});
  }
  report.cost_after_us = step.after_us = best.cost_us;
  report.forget_bounds(); // of e-graphs without it
  if (options.trace) options.trace->steps.push_back(std::move(step));
}

/// The search that we ship. Errors: `no_solution` where neither source nor anything found has a
/// finite cost.
Result<Candidate> optimize_by_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules,
                                        const Judges& judges, const OptimizeOptions& options,
                                        OptimizeReport& report) {
  size_t finalists = judges.others ? kKeptForEach * options.finalists : 0;
  PortfolioReport found =
      search_portfolio(source, rules, judges.costs, portfolio_options(options, finalists));
  if (!std::isfinite(found.cost_us)) { // an extraction says which output it is
    EGraph egraph = EGraph::from_graph(source);
    TG_CHECK(extract(egraph, source, judges.prices, options.extract));
  }
  note_activity(found.rules, rules, report);
  report.rules_applied = rule_counts(found.rules_applied);
  note_portfolio(found, report);
  Candidate candidate{std::move(found.graph), found.cost_us, std::move(found.chain),
                      std::move(found.unexplained)};
  for (PortfolioFinalist& other : found.finalists)
    judges.others->push_back({std::move(other.graph), other.cost_us, std::move(other.chain), "",
                              rule_counts(other.rules_applied)});
  complete_best(candidate, rules, judges, options, report);
  if (has_second_opinion(judges))
    judges.others->push_back(other_search(source, rules, judges, options));
  return candidate;
}

} // namespace

std::vector<RuleCount> add_kernels(Candidate& candidate, llvm::ArrayRef<Rule> rules,
                                   PriceCache& prices, const OptimizeOptions& options) {
  bool of_search = options.search == Search::Mcts || options.search == Search::Saturate ||
                   options.search == Search::Random;
  if (!options.kernels || !of_search) return {};
  std::optional<WithKernels> with =
      use_kernels(candidate.graph, rules, prices, options.explore.numerics);
  if (!with) return {};
  std::vector<RuleCount> added = count_rules(with->chain, rules);
  for (const RuleCount& fusing : added) add_count(candidate.rules, fusing);
  candidate.graph = std::move(with->graph);
  candidate.cost_us = with->cost_us;
  if (candidate.chain) append(*candidate.chain, with->chain);
  return added;
}

Result<Candidate> find_candidate(const Graph& source, llvm::ArrayRef<Rule> rules,
                                 const Judges& judges, const OptimizeOptions& options,
                                 OptimizeReport& report) {
  switch (options.search) {
  case Search::Mcts: return optimize_by_portfolio(source, rules, judges, options, report);
  case Search::Anneal:
  case Search::Taso: return optimize_locally(source, rules, judges, options, report);
  default: return optimize_in_one(source, rules, judges, options, report);
  }
}

} // namespace tg
