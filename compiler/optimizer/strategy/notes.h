// What strategies note of a search in the words of a report, and notify its listener of.
#pragma once

#include "compiler/optimizer/strategy/strategy.h"

namespace tg {

/// Rules that matched, for the report.
void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   SearchSection& report);

/// Extractions that used up their time: a less busy machine may find more.
void note_cut_extractions(size_t count, OptimizeReport& report);

/// Move by move from the source to what the last one led to; null: nowhere.
Result<Derivation> explain_moves(const Graph& source, const MoveMade* last,
                                 llvm::ArrayRef<Rule> rules, const StopToken& stop);

/// More candidates are kept than are measured: which are is for choose_finalist() to say.
inline constexpr size_t kKeptForEach = 4;
/// How many a search that keeps some by itself is to keep.
inline size_t candidates_to_keep(const StrategyTask& task) {
  return task.pricing.others ? kKeptForEach * task.options.finalists : 0;
}
inline bool has_second_opinion(const PricingContext& pricing) {
  return pricing.others && pricing.second_opinion;
}

/// Notifies a listener of how an e-graph grows, and what the best graph of it costs.
class ProgressReporter {
public:
  ProgressReporter(const OptimizeOptions& options, const OptimizeReport& report)
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
  /// A state was looked at.
  void tried(const EGraph& egraph) {
    ++now_.simulations;
    grown(node_count(egraph));
  }
  /// A graph was: what it costs. Reported with what comes next.
  void found(double cost_us) { now_.best_us = std::min(now_.best_us, cost_us); }

private:
  const NotifyProgress& progress_;
  SearchProgress now_;
  Stopwatch watch_;
};

} // namespace tg
