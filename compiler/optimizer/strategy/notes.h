// Reports of strategies: entries in the report of the optimisation, and progress for the listener.
#pragma once

#include "compiler/optimizer/strategy/strategy.h"

namespace tg {

/// Records the rules that matched.
void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   SearchSection& report);

/// Records extractions that reached the time limit: a less busy machine may find more.
void note_cut_extractions(size_t count, FindingReport& report);

/// Derives the result of the last move from the source, move by move; null: no moves.
Result<Derivation> explain_moves(const Graph& source, const LocalMove* last,
                                 llvm::ArrayRef<Rule> rules, const StopToken& stop);

/// Factor of candidates kept over those measured; choose_finalist() selects.
inline constexpr size_t kKeptForEach = 4;
/// Returns the number of candidates that a search should keep.
inline size_t candidates_to_keep(const StrategyTask& task) {
  return task.pricing.others ? kKeptForEach * task.options.finalists : 0;
}
inline bool has_alternative_costs(const PricingContext& pricing) {
  return pricing.others && pricing.alternative_costs;
}

/// Notifies a listener of the growth of an e-graph and the cost of its best graph.
class ProgressReporter {
public:
  ProgressReporter(const OptimizeOptions& options, const FindingReport& report)
      : progress_(options.portfolio.progress) {
    now_.time_limit_s = options.explore.time_limit_s;
    now_.source_us = now_.best_us = report.cost_before_us;
    now_.where = "exploring";
  }

  bool has_listener() const { return static_cast<bool>(progress_); }
  void grown(size_t nodes) {
    if (!progress_) return;
    now_.seconds = watch_.seconds();
    now_.nodes = nodes;
    progress_(now_);
  }
  /// Counts an evaluated state.
  void tried(const EGraph& egraph) {
    ++now_.simulations;
    grown(node_count(egraph));
  }
  /// Records the cost of a found graph, which the next notification includes.
  void found(double cost_us) { now_.best_us = std::min(now_.best_us, cost_us); }

private:
  const NotifyProgress& progress_;
  SearchProgress now_;
  Stopwatch watch_;
};

} // namespace tg
