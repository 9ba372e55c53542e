// What strategies note of a search in the words of a report, and tell whoever follows it.
#pragma once

#include "compiler/optimizer/strategy/strategy.h"
#include "lang/core/support/stopwatch.h"

namespace tg {

/// Rules by name, most often used first, then by name.
std::vector<RuleCount> named_counts(llvm::ArrayRef<RuleUse> uses, llvm::ArrayRef<Rule> rules);
/// Of what several moves did, one after the other.
std::vector<RuleCount> counts_on_path(llvm::ArrayRef<std::pair<RuleId, size_t>> path,
                                      llvm::ArrayRef<Rule> rules);

/// Rules that matched, for the report.
void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   OptimizeReport& report);

/// Extractions that used up their time: a quieter machine may find more.
void note_cut_extractions(size_t count, OptimizeReport& report);

/// Explanations end then.
StopToken end_of_explaining(const OptimizeOptions& options);

/// More candidates are kept than are measured: which are is for choose_finalist() to say.
inline constexpr size_t kKeptForEach = 4;
/// How many a search that keeps some by itself is to keep.
inline size_t candidates_to_keep(const SearchTask& task) {
  return task.judges.others ? kKeptForEach * task.options.finalists : 0;
}
inline bool has_second_opinion(const Judges& judges) {
  return judges.others && judges.second_opinion;
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

} // namespace tg
