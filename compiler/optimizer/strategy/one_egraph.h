// Strategies that grow one e-graph and extract from it afterwards. How it grows is theirs; what is
// extracted (with the kernels of the device, refined by groups, what other extractors and a second
// opinion choose) is the same for all.
#pragma once

#include "compiler/optimizer/strategy/notes.h"

namespace tg {

class OneEGraph : public SearchStrategy {
public:
  Result<Candidate> find(const StrategyTask& task, OptimizeReport& report) const final;
  bool extracts_at_the_end() const final { return true; }

private:
  /// Grows the e-graph as the options say, and notes what happened.
  virtual void grow(EGraph& egraph, const StrategyTask& task, OptimizeReport& report) const = 0;
  /// The result where the strategy has an extraction of its own;
  /// nullopt: extract as the options say.
  virtual std::optional<Candidate> own_extraction(const EGraph& /*egraph*/,
                                                  const StrategyTask& /*task*/,
                                                  OptimizeReport& /*report*/) const {
    return std::nullopt;
  }
};

/// The size of the e-graph, and why it grew no further.
template <class Report> void note_egraph(const Report& explored, SearchSection& report) {
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.stopped_by = stop_reason_text(explored.stop).str();
  report.holds_all = explored.stop == StopReason::Saturated;
}

/// Notifies the listener of the search of the result. `bound_us` 0: there is none.
void report_extracted(double cost_us, double bound_us, const OptimizeOptions& options,
                      const OptimizeReport& report);

} // namespace tg
