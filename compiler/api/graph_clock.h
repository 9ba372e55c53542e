// What one graph takes, for those who are rewarded by it: whole runs interleaved with the source,
// or the sum of its prices.
#pragma once

#include "compiler/api/optimize_model.h"
#include "compiler/search/game/environment.h"
#include "compiler/trial/backend_finalists.h"

namespace tg {

/// How long a graph and the source run interleaved: pairs of runs at least, and seconds. A training
/// asks for thousands of graphs, so that few have to do (graph_clock_bench: how far they are off);
/// where others took so much of the machine that it misleads, four times as many more.
struct GraphRuns {
  size_t pairs = 5;
  double seconds = 0.15;
};

class GraphClock {
public:
  /// Everything outlives it but the options. Errors: those of prices and of runs.
  static Result<std::unique_ptr<GraphClock>> make(const Graph& source, bool by_prices,
                                                  const tangram::OptimizeOptions& options,
                                                  const OptimizeHost& host, const StopToken& stop,
                                                  GraphRuns runs = {});
  /// By whole runs of this runner.
  GraphClock(const Graph& source, std::unique_ptr<FinalistRunner> runs)
      : source_(source), runs_(std::move(runs)) {}

  /// Microseconds. Errors: the device's; of a graph that cannot take the source's place there are
  /// none: it counts as twice as slow, so that an agent learns that and training goes on.
  Result<double> time_us(const Graph& graph);
  /// Graphs that could not be run, or gave other outputs.
  size_t refused() const { return refused_; }
  /// Pairs of runs that were timed.
  size_t pairs() const { return pairs_; }

private:
  explicit GraphClock(const Graph& source) : source_(source) {}
  Result<double> by_runs(const Graph& graph);
  Result<WholeRuns> compared(const Graph& graph);

  const Graph& source_;
  std::unique_ptr<CostModel> costs_;
  std::unique_ptr<PriceCache> prices_;
  std::unique_ptr<FinalistRunner> runs_; // else
  double source_us_ = 0;
  size_t refused_ = 0, pairs_ = 0;
};

} // namespace tg
