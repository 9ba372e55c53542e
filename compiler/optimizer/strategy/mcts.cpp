// The default search: the portfolio of search/portfolio/portfolio.h.
#include "compiler/egraph/egraph.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/strategy/notes.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

PortfolioOptions portfolio_options(const OptimizeOptions& options, size_t finalists) {
  PortfolioOptions out = options.portfolio;
  out.saturate = options.explore;
  out.extract = options.extract;
  out.explain = options.explain;
  out.explaining = options.time.explanation();
  out.finalists = finalists;
  MctsOptions& mcts = out.mcts;
  mcts.explore.numerics = options.explore.numerics;
  mcts.explore.cycle_filter = CycleFilter::Efficient; // the incumbent needs it
  static_cast<SearchLimits&>(mcts) = options.explore;
  return out;
}

void note_portfolio(PortfolioReport& found, FindingReport& report) {
  report.egraph_nodes = found.most_nodes;
  report.egraph_classes = found.most_classes;
  report.extract_s = found.extract_s;
  report.explore_s = std::max(found.seconds - found.extract_s, 0.0);
  report.decisions = found.decisions;
  report.simulations = found.simulations;
  report.egraphs = found.egraphs;
  report.segments = found.segments;
  report.distinct_segments = found.distinct_segments;
  report.search_memory_mb = static_cast<double>(found.memory_bytes) / (1 << 20);
  report.cost_after_us = found.cost_us;
  report.bounds = found.bounds;
  if (!found.bounds.empty()) {
    const GraphBound& bound = found.bounds.front();
    report.lower_bound_us = std::min(bound.lower_us, found.cost_us);
    report.optimal = bound.optimal();
    report.bound_bytes = bound.most_bytes;
    report.holds_all = bound.saturated && found.stop == StopReason::Saturated;
  }
  report.learned = std::move(found.learned);
  report.stopped_by =
      found.stop == StopReason::Saturated ? "no more gain" : stop_reason_text(found.stop).str();
  note_cut_extractions(found.slices_used_up, report);
}

/// Returns the result of the same search by the second opinion's prices, priced by those in use.
Candidate other_search(const StrategyTask& task) {
  const auto& [source, rules, pricing, options] = task;
  PortfolioOptions portfolio = portfolio_options(options, 0);
  portfolio.mcts.trace = nullptr;
  PortfolioReport found = search_portfolio(source, rules, *pricing.alternative_costs, portfolio);
  double cost = price_graph(found.graph, pricing.prices);
  return {std::move(found.graph),         cost,
          std::move(found.chain),         std::move(found.unexplained),
          std::move(found.rules_applied), pricing.alternative_costs->name()};
}

/// Adds kernels that the search missed to the best candidate, as a separate step.
void complete_best(Candidate& best, const StrategyTask& task, FindingReport& report) {
  const auto& [source, rules, pricing, options] = task;
  SearchTrace::Step step{"kernels of the device", {}, best.cost_us};
  std::vector<RuleCount> added = add_kernels(best, rules, pricing.prices, options);
  if (added.empty()) return;
  add_counts(report.rules_applied, added);
  step.rules = std::move(added);
  report.cost_after_us = step.after_us = best.cost_us;
  report.forget_bounds(); // from e-graphs without these kernels
  if (options.trace) options.trace->steps.push_back(std::move(step));
}

class PortfolioStrategy final : public SearchStrategy {
public:
  /// Errors: `no_solution` if neither the source nor any finding has a finite cost.
  Result<Candidate> find(const StrategyTask& task, FindingReport& report) const override;
  /// It finds its result within a second, and spends the remaining time on proofs.
  Limits limits(bool guessed) const override { return {guessed ? 1.2 : 10, 50'000}; }
  bool takes_kernels() const override { return true; }
};

Result<Candidate> PortfolioStrategy::find(const StrategyTask& task, FindingReport& report) const {
  const auto& [source, rules, pricing, options] = task;
  PortfolioReport found = search_portfolio(source, rules, pricing.costs,
                                           portfolio_options(options, candidates_to_keep(task)));
  if (!std::isfinite(found.cost_us)) { // an extraction says which output it is
    EGraph egraph = egraph_of(source);
    TG_CHECK(extract(egraph, source, pricing.prices, options.extract));
  }
  note_activity(found.rules, rules, report);
  report.rules_applied = std::move(found.rules_applied);
  note_portfolio(found, report);
  Candidate candidate{std::move(found.graph), found.cost_us, std::move(found.chain),
                      std::move(found.unexplained)};
  for (PortfolioFinalist& other : found.finalists)
    pricing.others->push_back({std::move(other.graph), other.cost_us, std::move(other.chain), "",
                               std::move(other.rules_applied)});
  complete_best(candidate, task, report);
  if (has_alternative_costs(pricing)) pricing.others->push_back(other_search(task));
  return candidate;
}

} // namespace

const SearchStrategy& portfolio() {
  static const PortfolioStrategy strategy;
  return strategy;
}

} // namespace tg
