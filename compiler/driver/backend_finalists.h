// The FinalistRunner that builds and times whole graphs on a backend of this machine.
#pragma once

#include "compiler/driver/loaded_graphs.h"
#include "compiler/optimizer/optimize.h"

namespace tg {

/// Compares graphs on a backend, in turns, on equal random weights and inputs, in options.dtype.
class BackendFinalists : public FinalistRunner {
public:
  explicit BackendFinalists(PrepareOptions options, TimingOptions timing = {.min_runs = 15,
                                                                            .seconds = 1.5,
                                                                            .patience_seconds = 8})
      : loaded_(std::move(options)), timing_(std::move(timing)) {
    timing_.stop = this->options().stop;
  }
  Result<WholeRuns> compare(const Graph& first, const Graph& second) override;
  Result<std::vector<Screened>> screen(const Graph& source,
                                       llvm::ArrayRef<const Graph*> graphs) override;

  /// What each operator of the source takes within its whole runs (prepare.h); the source stays
  /// loaded for the comparisons to come. `runs`, where it is given: the runs themselves.
  Result<std::vector<NodeTime>> time_source_nodes(const Graph& source, Timing* runs = nullptr);

  /// By how much a finalist's outputs may differ from the source's (max_rel_diff).
  double bound() const;

private:
  const PrepareOptions& options() const { return loaded_.options(); }
  Result<Screened> screen_one(const Graph& graph, const LoadedGraph& source);

  LoadedGraphs loaded_;
  TimingOptions timing_;
};

} // namespace tg
