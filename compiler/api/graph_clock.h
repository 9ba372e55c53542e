// The time of a graph for rewards: by whole runs interleaved with the source, or by the sum of its
// prices.
#pragma once

#include "compiler/api/optimize_model.h"
#include "compiler/search/game/environment.h"
#include "compiler/trial/backend_finalists.h"

namespace tg {

/// Length of the interleaved runs of a graph and the source: minimum pairs of runs, and seconds.
/// Training times thousands of graphs, so few pairs must suffice (graph_clock_bench measures the
/// error). If other programs took a misleading share of the machine, four times as many follow.
struct GraphRuns {
  size_t pairs = 5;
  double seconds = 0.15;
};

class GraphClock {
public:
  /// Everything except the options must outlive the clock. Errors: those of prices and of runs.
  static Result<std::unique_ptr<GraphClock>> make(const Graph& source, bool by_prices,
                                                  const tangram::OptimizeOptions& options,
                                                  const OptimizeHost& host, const StopToken& stop,
                                                  GraphRuns runs = {});
  /// Uses whole runs of this runner.
  GraphClock(const Graph& source, std::unique_ptr<FinalistRunner> runs)
      : source_(source), runs_(std::move(runs)) {}

  /// Returns microseconds. Errors: the device's. A graph that cannot replace the source is not an
  /// error: it counts as twice as slow, so that an agent learns from it and training continues.
  Result<double> time_us(const Graph& graph);
  /// Number of graphs that could not be run, or had other outputs.
  size_t refused() const { return refused_; }
  /// Number of pairs of runs that were timed.
  size_t pairs() const { return pairs_; }

private:
  explicit GraphClock(const Graph& source) : source_(source) {}
  Result<double> by_runs(const Graph& graph);
  Result<WholeRuns> compared(const Graph& graph);

  const Graph& source_;
  std::unique_ptr<CostModel> costs_;
  std::unique_ptr<PriceCache> prices_;
  std::unique_ptr<FinalistRunner> runs_; // otherwise
  double source_us_ = 0;
  size_t refused_ = 0, pairs_ = 0;
};

} // namespace tg
