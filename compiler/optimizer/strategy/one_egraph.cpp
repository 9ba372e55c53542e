#include "compiler/optimizer/strategy/one_egraph.h"

#include "compiler/egraph/explain/explain.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/group_refinement.h"

#include <algorithm>

namespace tg {

void report_extracted(double cost_us, double bound_us, const OptimizeOptions& options,
                      const FindingReport& report) {
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

namespace {

void note_extraction(const ExtractedGraph& extracted, llvm::ArrayRef<Rule> rules,
                     FindingReport& report) {
  report.extract_s = extracted.seconds;
  report.cost_after_us = extracted.cost_us;
  if (extracted.lower_bound_us > 0) report.lower_bound_us = extracted.lower_bound_us;
  report.optimal = extracted.optimal;
  report.bound_bytes = extracted.bound_bytes;
  report.cut_extractions += extracted.out_of_time;
  report.rules_applied = named_counts(extracted.rules_used, rules);
  if (!extracted.note.empty()) report.notes.push_back(extracted.note);
}

/// Returns the choice of another model's prices from the same e-graph, with its price under the
/// model in use. Returns nullopt if it costs more than the source, or fails.
std::optional<ExtractedGraph> other_finalist(const EGraph& egraph, const Graph& source,
                                             const PricingContext& pricing,
                                             const OptimizeOptions& options) {
  PriceCache other_prices(source.symbols(), *pricing.alternative_costs);
  Result<ExtractedGraph> other = extract(egraph, source, other_prices, options.extract);
  if (!other) return std::nullopt;
  other->cost_us = price_graph(other->graph, pricing.prices);
  if (costs_more(other->cost_us, price_graph(source, pricing.prices))) return std::nullopt;
  return std::move(*other);
}

Candidate explained(Candidate candidate, const EGraph& egraph, llvm::ArrayRef<Rule> rules,
                    const Graph& source, const OptimizeOptions& options) {
  if (egraph.recording())
    candidate.set_explanation(
        explain(history_of(egraph), rules, source, candidate.graph, options.time.explanation()));
  return candidate;
}

/// Reports the progress of an extraction to the listener of the search.
ExtractOptions followed(const OptimizeOptions& options, const FindingReport& report) {
  ExtractOptions out = options.extract;
  auto notify = options.portfolio.progress;
  if (!notify) return out;
  SearchProgress now;
  now.time_limit_s = out.ilp.time_limit_s;
  now.source_us = now.best_us = report.cost_before_us;
  now.nodes = report.egraph_nodes;
  now.where = "extraction";
  out.ilp.stop = [notify, now](const ExtractionProgress& progress) mutable {
    now.seconds = progress.seconds;
    now.best_us = std::min(now.best_us, progress.dag_cost);
    now.bound_us = std::max(now.bound_us, progress.lower_bound);
    notify(now);
    return false;
  };
  return out;
}

/// Extracts with the single kernels of the device, as far as the rules in use lead there; then
/// `kernels` has their derivation. Errors: `no_solution`.
Result<ExtractedGraph> extract_kernels(const EGraph& egraph, const Graph& source,
                                       llvm::ArrayRef<Rule> rules, PriceCache& prices,
                                       const OptimizeOptions& options,
                                       const ExtractOptions& extraction,
                                       std::optional<Derivation>& kernels) {
  ExtractOptions with = extraction;
  with.kernels = options.kernels && strategy_of(options).takes_kernels();
  TG_TRY(ExtractedGraph extracted, extract(egraph, source, prices, with));
  if (!extracted.plain) return extracted;
  Result<Derivation> chain =
      explain_kernels(*extracted.plain, extracted.graph, rules, options.explore.numerics);
  if (!chain) return extract(egraph, source, prices, extraction);
  kernels = std::move(*chain);
  return extracted;
}

/// Adds the choices of the second opinion and of other extractors from the same e-graph.
void extract_others(const EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                    const PricingContext& pricing, const OptimizeOptions& options) {
  auto keep = [&](ExtractedGraph found, std::string chosen_by) {
    Candidate candidate =
        explained({std::move(found.graph), found.cost_us}, egraph, rules, source, options);
    candidate.rules = named_counts(found.rules_used, rules);
    candidate.chosen_by = std::move(chosen_by);
    pricing.others->push_back(std::move(candidate));
  };
  if (has_alternative_costs(pricing))
    if (auto found = other_finalist(egraph, source, pricing, options))
      keep(std::move(*found), pricing.alternative_costs->name());
  for (Extractor extractor : greedy_extractors()) {
    if (extractor == options.extract.extractor) continue;
    ExtractOptions other = options.extract;
    other.extractor = extractor;
    if (auto found = extract(egraph, source, pricing.prices, other)) keep(std::move(*found), "");
  }
}

} // namespace

Result<Candidate> OneEGraph::find(const StrategyTask& task, FindingReport& report) const {
  const auto& [source, rules, pricing, options] = task;
  EGraph egraph = egraph_of(source);
  if (options.explain) egraph.record_history();
  grow(egraph, task, report);
  if (std::optional<Candidate> own = own_extraction(egraph, task, report))
    return explained(std::move(*own), egraph, rules, source, options);
  std::optional<Derivation> kernels;
  TG_TRY(ExtractedGraph extracted, extract_kernels(egraph, source, rules, pricing.prices, options,
                                                   followed(options, report), kernels));
  if (pricing.others) extract_others(egraph, source, rules, pricing, options);
  if (pricing.groups && !kernels)
    refine_extracted(egraph, source, pricing, options, extracted, report);
  note_extraction(extracted, rules, report);
  report_extracted(extracted.cost_us, extracted.lower_bound_us, options, report);
  if (!kernels)
    return explained({std::move(extracted.graph), extracted.cost_us}, egraph, rules, source,
                     options);
  add_counts(report.rules_applied, count_rules(*kernels, rules));
  Candidate candidate =
      explained({*extracted.plain, extracted.cost_us}, egraph, rules, source, options);
  candidate.graph = std::move(extracted.graph);
  if (candidate.chain) append(*candidate.chain, *kernels);
  return candidate;
}

} // namespace tg
