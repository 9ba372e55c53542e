// Strategies that grow one e-graph and extract from it afterwards. A strategy defines the growth.
// The extraction is common to all: kernels of the device, refinement by groups, and the choices of
// other extractors and a second opinion.
#pragma once

#include "compiler/optimizer/strategy/notes.h"

namespace tg {

class OneEGraph : public SearchStrategy {
public:
  Result<Candidate> find(const StrategyTask& task, FindingReport& report) const final;
  bool extracts_after_exploring() const final { return true; }

private:
  /// Grows the e-graph as the options specify, and records the statistics.
  virtual void grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const = 0;
  /// Returns the result of the strategy's own extraction;
  /// nullopt: extract as the options specify.
  virtual std::optional<Candidate> own_extraction(const EGraph& /*egraph*/,
                                                  const StrategyTask& /*task*/,
                                                  FindingReport& /*report*/) const {
    return std::nullopt;
  }
};

/// Records the size of the e-graph, and why growth stopped.
template <class Report> void note_egraph(const Report& explored, SearchSection& report) {
  report.egraph_nodes = explored.nodes;
  report.egraph_classes = explored.classes;
  report.explore_s = explored.seconds;
  report.stopped_by = stop_reason_text(explored.stop).str();
  report.holds_all = explored.stop == StopReason::Saturated;
}

/// Notifies the listener of the result. `bound_us` 0: there is no bound.
void report_extracted(double cost_us, double bound_us, const OptimizeOptions& options,
                      const FindingReport& report);

} // namespace tg
