#include "compiler/optimizer/group_refinement.h"

#include "compiler/egraph/explain/explain.h"
#include "compiler/extract/groups/group_refine.h"
#include "compiler/ir/graph.h"
#include "compiler/search/saturate.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

/// Maximum number of consecutive e-graphs.
constexpr int kRounds = 3;
/// Enough for the interaction of two rules. Results of the search are not searched for again.
constexpr int kIterations = 2;
constexpr size_t kLeastNodes = 2'000, kNodesForEach = 8;

/// Limits, at the end of a start, on the number of graphs priced and the time that took.
struct Share {
  size_t priced = 0;
  double seconds = 0;
};

Share share_of(const OptimizeOptions& options, double part) {
  return {static_cast<size_t>(static_cast<double>(options.refine.most_priced) * part),
          options.refine.time_limit_s * part};
}

/// Returns nullopt if no budget is left, or nothing better was found.
std::optional<RefinedGraph> refine(const EGraph& egraph, const Graph& source, const Graph& start,
                                   const PricingContext& pricing, const OptimizeOptions& options,
                                   const Share& share, FindingReport& report) {
  Clock::time_point begin = Clock::now();
  GroupReport& groups = *report.groups;
  if (groups.priced + 2 > share.priced || groups.seconds >= share.seconds) return std::nullopt;
  RefineOptions left = options.refine;
  left.most_priced = share.priced - groups.priced;
  left.time_limit_s = share.seconds - groups.seconds;
  left.most_cost_us = report.cost_before_us;
  left.max_weight_growth = options.extract.max_weight_growth;
  left.stop = options.explore.stop;
  std::optional<RefinedGraph> refined =
      refine_by_groups(egraph, source, start, pricing.prices, *pricing.groups, left);
  groups.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  if (!refined) return std::nullopt;
  groups.priced += refined->priced;
  groups.ended |= refined->ended;
  if (refined->moves == 0) return std::nullopt;
  return refined;
}

/// Grows an e-graph from the graph by rules. `ended` is set if the clock or the user ended it.
EGraph neighbourhood(const Graph& graph, llvm::ArrayRef<Rule> rules, const OptimizeOptions& options,
                     double seconds, bool& ended) {
  EGraph egraph = egraph_of(graph);
  if (options.explain) egraph.record_history();
  SaturateOptions grow;
  grow.iterations = kIterations;
  grow.node_limit = std::max(kLeastNodes, kNodesForEach * node_count(egraph));
  grow.multi_node_limit = grow.node_limit / 4;
  grow.time_limit_s = seconds;
  grow.memory_limit_mb = options.explore.memory_limit_mb;
  grow.numerics = options.explore.numerics;
  grow.stop = options.explore.stop;
  StopReason stop = saturate(egraph, rules, grow).stop;
  ended |= stop == StopReason::Time || stop == StopReason::Cancelled;
  return egraph;
}

/// Refines within one neighbourhood. Returns false if it has nothing better.
bool refine_once(const Graph& source, llvm::ArrayRef<Rule> rules, const PricingContext& pricing,
                 const OptimizeOptions& options, const Share& share, Candidate& candidate,
                 FindingReport& report) {
  Clock::time_point begin = Clock::now();
  GroupReport& groups = *report.groups;
  double left = share.seconds - groups.seconds;
  if (left <= 0) return false;
  EGraph egraph = neighbourhood(candidate.graph, rules, options, left / 2, groups.ended);
  groups.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  auto refined = refine(egraph, source, candidate.graph, pricing, options, share, report);
  if (!refined) return false;
  if (candidate.chain) {
    auto next = explain(history_of(egraph), rules, candidate.graph, refined->result.graph,
                        options.time.explanation());
    if (!next) return false; // results without an explanation are not used
    append(*candidate.chain, *next);
    trim(*candidate.chain);
  }
  add_counts(candidate.rules, refined->result.rules_used, rules);
  candidate.graph = std::move(refined->result.graph);
  candidate.cost_us = refined->result.cost_us;
  groups.moves += refined->moves;
  return true;
}

/// Refines in consecutive neighbourhoods. Returns the final group price.
double refine_on(const Graph& source, llvm::ArrayRef<Rule> rules, const PricingContext& pricing,
                 const OptimizeOptions& options, const Share& share, Candidate& candidate,
                 FindingReport& report) {
  for (int round = 0; round < kRounds; ++round)
    if (!refine_once(source, rules, pricing, options, share, candidate, report)) break;
  return pricing.groups->price({&candidate.graph}).front().microseconds;
}

/// Exchanges the candidate with the cheapest other by groups. Returns true if it did.
bool start_from_cheapest(const PricingContext& pricing, Candidate& candidate,
                         FindingReport& report) {
  std::vector<Candidate>& others = *pricing.others;
  std::vector<const Graph*> graphs = {&candidate.graph};
  for (const Candidate& other : others) graphs.push_back(&other.graph);
  std::vector<GroupPrice> prices = pricing.groups->price(graphs);
  report.groups->priced += prices.size();
  size_t best = 0;
  for (size_t i = 1; i < prices.size(); ++i)
    if (costs_more(prices[best].microseconds, prices[i].microseconds) &&
        !costs_more(others[i - 1].cost_us, report.cost_before_us))
      best = i;
  if (best > 0) std::swap(candidate, others[best - 1]);
  return best > 0;
}

} // namespace

bool note_groups(const Graph& source, GroupPricer& groups, ExtractionSection& report) {
  GroupPrice price = groups.price({&source}).front();
  if (!std::isfinite(price.microseconds)) return false;
  report.groups = GroupReport{};
  report.groups->before = price;
  return true;
}

void refine_extracted(const EGraph& egraph, const Graph& source, const PricingContext& pricing,
                      const OptimizeOptions& options, ExtractedGraph& extracted,
                      FindingReport& report) {
  report.groups->found = pricing.groups->price({&extracted.graph}).front();
  auto refined =
      refine(egraph, source, extracted.graph, pricing, options, share_of(options, 0.5), report);
  if (!refined) return;
  report.groups->moves += refined->moves;
  extracted.graph = std::move(refined->result.graph);
  extracted.cost_us = refined->result.cost_us;
  extracted.rules_used = std::move(refined->result.rules_used);
  extracted.lower_bound_us = 0;
  extracted.optimal = false;
}

void refine_candidate(const Graph& source, llvm::ArrayRef<Rule> rules,
                      const PricingContext& pricing, const OptimizeOptions& options,
                      Candidate& candidate, FindingReport& report) {
  if (!report.groups->found)
    report.groups->found = pricing.groups->price({&candidate.graph}).front();
  candidate.rules = report.rules_applied;
  bool other =
      pricing.others && !pricing.others->empty() && start_from_cheapest(pricing, candidate, report);
  Candidate unrefined = candidate;
  bool from_source = difference(source, candidate.graph).empty();
  double least = refine_on(source, rules, pricing, options,
                           share_of(options, from_source ? 1 : 0.75), candidate, report);
  if (!from_source) { // operators' prices led away from it
    Candidate own{source, report.cost_before_us};
    if (options.explain) own.chain = derivation_of(source);
    double found = refine_on(source, rules, pricing, options, share_of(options, 1), own, report);
    if (costs_more(least, found)) candidate = std::move(own);
  }
  if (!other && difference(unrefined.graph, candidate.graph).empty()) return;
  if (pricing.others) pricing.others->push_back(std::move(unrefined));
  report.replace_result(candidate.cost_us, candidate.rules);
}

} // namespace tg
