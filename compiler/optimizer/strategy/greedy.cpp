// Greedy growth: applies each rule everywhere, prices the result and rolls it back; then applies
// the rule that lowers the price most permanently, until none does. A baseline for the other
// searches: it never uses a rule without an immediate gain.
#include "compiler/optimizer/strategy/one_egraph.h"
#include "compiler/search/explorer.h"

namespace tg {

namespace {

class GreedyGrowth final : public OneEGraph {
  bool takes_kernels() const override { return true; }
  void grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const override;
};

/// Grows an e-graph greedily from its current state.
class Growth {
public:
  Growth(EGraph& egraph, const StrategyTask& task, FindingReport& report)
      : egraph_(egraph), task_(task), limits_(task.options.explore),
        explorer_(egraph, task.rules,
                  {limits_.node_limit, limits_.node_limit, limits_.cycle_filter, limits_.numerics}),
        reporter_(task.options, report), greedy_(task.options.extract), rules(task.rules.size()) {
    greedy_.extractor = Extractor::Greedy;
  }

  void run() {
    explorer_.rebuild();
    best_us_ = price();
    while (const CompiledRule* rule = best_rule()) {
      Explorer::Step step = explorer_.apply_everywhere(*rule);
      rules[rule->id].applied += step.applied;
      best_us_ = price();
    }
    nodes = node_count(egraph_), classes = class_count(egraph_);
    seconds = watch_.seconds();
  }

private:
  double price() {
    Result<ExtractedGraph> found = extract(egraph_, task_.source, task_.pricing.prices, greedy_);
    double cost_us = found ? found->cost_us : kInfiniteCost;
    reporter_.found(cost_us);
    reporter_.tried(egraph_);
    return cost_us;
  }

  /// Returns the rule with the lowest resulting price; null if none lowers it, or a limit is
  /// reached.
  const CompiledRule* best_rule() {
    const CompiledRule* best = nullptr;
    double least_us = best_us_;
    Checkpoint here = egraph_.checkpoint();
    for (const CompiledRule* rule : explorer_.rules()) {
      if (auto reason = limits_.reached(watch_.seconds(), explorer_.memory_bytes())) {
        stop = *reason;
        best = nullptr;
        break;
      }
      Explorer::Step step = explorer_.apply_everywhere(*rule);
      rules[rule->id].matches += step.matches;
      double cost_us = step.applied > 0 ? price() : best_us_;
      if (cost_us < least_us) best = rule, least_us = cost_us;
      egraph_.rollback(here);
      explorer_.moved();
    }
    egraph_.release(here);
    return explorer_.full() ? nullptr : best;
  }

  EGraph& egraph_;
  const StrategyTask& task_;
  const SaturateOptions& limits_;
  Explorer explorer_;
  ProgressReporter reporter_;
  ExtractOptions greedy_;
  Stopwatch watch_;
  double best_us_ = 0;

public: // results
  StopReason stop = StopReason::Iterations;
  size_t nodes = 0, classes = 0;
  double seconds = 0;
  std::vector<RuleStats> rules; // by RuleId
};

void GreedyGrowth::grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const {
  Growth growth(egraph, task, report);
  growth.run();
  note_activity(growth.rules, task.rules, report);
  note_egraph(growth, report);
  if (growth.stop == StopReason::Iterations) report.stopped_by = "no gain";
}

} // namespace

const SearchStrategy& greedy_growth() {
  static const GreedyGrowth strategy;
  return strategy;
}

} // namespace tg
