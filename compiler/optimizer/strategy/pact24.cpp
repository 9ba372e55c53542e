#include "compiler/optimizer/explore.h"

#include "compiler/optimizer/state_price.h"
#include "compiler/search/published_costs.h"
#include "lang/core/stopwatch.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg {

void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   OptimizeReport& report) {
  for (size_t i = 0; i < stats.size() && i < rules.size(); ++i)
    if (stats[i].matches > 0)
      report.activity.push_back(
          {rules[i].name, rules[i].declared, stats[i].matches, stats[i].applied});
}

void note_cut_extractions(size_t count, OptimizeReport& report) {
  report.cut_extractions = count;
  if (count > 0)
    report.notes.push_back(
        llvm::formatv("{0} extraction{1} ended by the clock", count, count == 1 ? "" : "s"));
}

namespace {

void note_exploration(const SaturateReport& explored, llvm::ArrayRef<Rule> rules,
                      OptimizeReport& report) {
  note_activity(explored.rules, rules, report);
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.stopped_by = stop_reason_text(explored.stop).str();
}

/// Tells whoever watches how an e-graph grows, and what the best graph of it costs.
class ProgressTeller {
public:
  ProgressTeller(const OptimizeOptions& options, const OptimizeReport& report)
      : progress_(options.portfolio.progress) {
    now_.time_limit_s = options.explore.time_limit_s;
    now_.source_us = now_.best_us = report.cost_before_us;
    now_.where = "exploring";
  }

  bool heard() const { return static_cast<bool>(progress_); }
  void grown(size_t nodes) {
    if (!progress_) return;
    now_.seconds = watch_.seconds();
    now_.nodes = nodes;
    progress_(now_);
  }
  /// A state was looked at.
  void tried(const EGraph& egraph) {
    ++now_.simulations;
    grown(egraph.node_count());
  }
  /// A graph was: what it costs. Told with what comes next.
  void found(double cost_us) { now_.best_us = std::min(now_.best_us, cost_us); }

private:
  const TellProgress& progress_;
  SearchProgress now_;
  Stopwatch watch_;
};

/// The prices of another, which whoever watches is told of: that, not what they are, since rewards
/// are no prices of graphs (search/published_costs.h).
class WatchedPrice final : public StatePrice {
public:
  WatchedPrice(std::unique_ptr<StatePrice> price, ProgressTeller& teller)
      : price_(std::move(price)), teller_(teller) {}
  double price(const EGraph& egraph) override {
    teller_.tried(egraph);
    return price_->price(egraph);
  }
  void forget(llvm::ArrayRef<ENodeId> changed) override { price_->forget(changed); }
  size_t cut_short() const override { return price_->cut_short(); }

private:
  std::unique_ptr<StatePrice> price_;
  ProgressTeller& teller_;
};

/// Random rollouts; what a state is worth is its greedy extraction.
void explore_randomly(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                      PriceCache& prices, const OptimizeOptions& options, OptimizeReport& report,
                      ProgressTeller& teller) {
  RolloutOptions rollout;
  rollout.rollouts = static_cast<int>(options.budget);
  rollout.depth = static_cast<int>(options.depth);
  rollout.node_limit = options.explore.node_limit;
  rollout.time_limit_s = options.explore.time_limit_s;
  rollout.memory_limit_mb = options.explore.memory_limit_mb;
  rollout.stop = options.explore.stop;
  rollout.seed = options.explore.seed;
  rollout.cycle_filter = options.explore.cycle_filter;
  rollout.numerics = options.explore.numerics;
  rollout.trace = options.trace;
  ExtractOptions greedy = options.extract;
  greedy.extractor = Extractor::Greedy;
  RolloutReport explored = search_rollouts(egraph, rules, rollout, [&](const EGraph& state) {
    Result<ExtractedGraph> extracted = extract(state, source, prices, greedy);
    double cost_us = extracted ? extracted->cost_us : kInfiniteCost;
    teller.found(cost_us);
    teller.tried(state);
    return cost_us;
  });
  note_activity(explored.rules, rules, report);
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.stopped_by =
      explored.stop == StopReason::Iterations ? "budget" : stop_reason_text(explored.stop).str();
}

/// What the published search would answer now, as a price of a graph.
double price_as_published(const EGraph& egraph, const Graph& source, PriceCache& prices,
                          Reward reward, const StopToken& stop) {
  PublishedCost found = published_cost(reward, egraph, prices, stop);
  if (found.cost_us == kInfiniteCost) return kInfiniteCost;
  return price_graph(graph_of(egraph, source, found.nodes), prices);
}

/// The published tree search; what a state is worth is as its options say.
void explore_as_published(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                          PriceCache& prices, const OptimizeOptions& options,
                          OptimizeReport& report, ProgressTeller& teller) {
  Pact24Options pact = options.pact24;
  pact.explore.node_limit = options.explore.node_limit;
  pact.explore.cycle_filter = options.explore.cycle_filter;
  pact.explore.numerics = options.explore.numerics;
  pact.explore.match_limit = std::max<size_t>(options.explore.node_limit, 1);
  pact.time_limit_s = options.explore.time_limit_s;
  pact.memory_limit_mb = options.explore.memory_limit_mb;
  pact.seed = options.explore.seed;
  pact.stop = options.explore.stop.within(options.explore.time_limit_s);
  pact.trace = options.trace;
  WatchedPrice price(
      make_state_price(options.reward, egraph, source, prices, options.extract, pact.stop), teller);
  double best_us = report.cost_before_us;
  if (options.trace || teller.heard())
    pact.decided = [&](const Pact24Report& so_far) {
      best_us =
          std::min(best_us, price_as_published(egraph, source, prices, options.reward, pact.stop));
      teller.found(best_us);
      if (options.trace)
        options.trace->points.push_back(
            {so_far.seconds, best_us, so_far.simulations, egraph.node_count(), ""});
    };
  Pact24Report explored = search_pact24(egraph, rules, pact, price);
  note_activity(explored.rules, rules, report);
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.simulations = explored.simulations;
  report.decisions = static_cast<size_t>(explored.decisions);
  report.search_memory_mb = static_cast<double>(explored.memory_bytes) / (1 << 20);
  note_cut_extractions(price.cut_short(), report);
  report.stopped_by =
      explored.stop == StopReason::Iterations ? "decisions" : stop_reason_text(explored.stop).str();
}

} // namespace

void explore(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
             const OptimizeOptions& options, OptimizeReport& report) {
  ProgressTeller teller(options, report);
  teller.grown(egraph.node_count());
  switch (options.search) {
  case Search::Random:
    return explore_randomly(egraph, source, rules, prices, options, report, teller);
  case Search::Pact24:
    return explore_as_published(egraph, source, rules, prices, options, report, teller);
  case Search::None:
    report.egraph_nodes = egraph.node_count();
    report.egraph_classes = egraph.class_count();
    report.stopped_by = "no search";
    return;
  default: {
    SaturateOptions saturation = options.explore;
    saturation.trace = options.trace;
    if (teller.heard()) saturation.progress = [&](size_t nodes) { teller.grown(nodes); };
    return note_exploration(saturate(egraph, rules, saturation), rules, report);
  }
  }
}

} // namespace tg
