// Random rollouts. The value of a state is the cost of its greedy extraction.
#include "compiler/optimizer/strategy/one_egraph.h"

namespace tg {

namespace {

class RandomRollouts final : public OneEGraph {
  bool takes_kernels() const override { return true; }
  void grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const override;
};

void RandomRollouts::grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const {
  const Graph& source = task.source;
  llvm::ArrayRef<Rule> rules = task.rules;
  const OptimizeOptions& options = task.options;
  ProgressReporter reporter(options, report);
  reporter.grown(node_count(egraph));
  RolloutOptions rollout;
  static_cast<SearchLimits&>(rollout) = options.explore;
  rollout.rollouts = static_cast<int>(options.budget);
  rollout.depth = static_cast<int>(options.depth);
  rollout.node_limit = options.explore.node_limit;
  rollout.cycle_filter = options.explore.cycle_filter;
  rollout.numerics = options.explore.numerics;
  ExtractOptions greedy = options.extract;
  greedy.extractor = Extractor::Greedy;
  RolloutReport explored = search_rollouts(egraph, rules, rollout, [&](const EGraph& state) {
    Result<ExtractedGraph> extracted = extract(state, source, task.pricing.prices, greedy);
    double cost_us = extracted ? extracted->cost_us : kInfiniteCost;
    reporter.found(cost_us);
    reporter.tried(state);
    return cost_us;
  });
  note_activity(explored.rules, rules, report);
  note_egraph(explored, report);
  if (explored.stop == StopReason::Iterations) report.stopped_by = "budget";
}

} // namespace

const SearchStrategy& random_rollouts() {
  static const RandomRollouts strategy;
  return strategy;
}

} // namespace tg
