#include "compiler/api/graph_clock.h"

#include "compiler/api/public_types.h"
#include "compiler/pricing/cost_model.h"

namespace tg {

namespace {

/// The factor on the source's time for a graph that cannot replace the source.
constexpr double kRefusedTimes = 2;

/// The factor on the number of pairs if other programs took much of the machine.
constexpr size_t kTimesIfDisturbed = 4;

} // namespace

Result<std::unique_ptr<GraphClock>> GraphClock::make(const Graph& source, bool by_prices,
                                                     const tangram::OptimizeOptions& options,
                                                     const OptimizeHost& host,
                                                     const StopToken& stop, GraphRuns runs) {
  std::unique_ptr<GraphClock> clock(new GraphClock(source));
  if (by_prices) {
    TG_TRY(clock->costs_, cost_model(source, options, stop, host.timing));
    clock->prices_ = std::make_unique<PriceCache>(source.symbols(), *clock->costs_);
    return clock;
  }
  TG_TRY(PrepareOptions run, run_options({.backend = backend_of_costs(options.cost),
                                          .threads = static_cast<int>(options.threads),
                                          .memory_limit_mb = options.memory_limit_mb,
                                          .cost_db = options.cost_db,
                                          .seed = options.seed,
                                          .weights_file = options.weights},
                                         source, host.weights));
  run.stop = stop;
  TimingOptions timing;
  timing.min_runs = runs.pairs, timing.seconds = runs.seconds;
  timing.max_runs = std::max(timing.max_runs, runs.pairs);
  clock->runs_ = std::make_unique<BackendFinalists>(std::move(run), timing);
  return clock;
}

Result<double> GraphClock::time_us(const Graph& graph) {
  if (prices_) return price_graph(graph, *prices_);
  return by_runs(graph);
}

/// Runs the graph interleaved with the source, so that changes of the machine's speed affect both.
/// Returns the source's time divided by the speedup of the graph.
Result<double> GraphClock::by_runs(const Graph& graph) {
  TG_TRY(WholeRuns runs, compared(graph));
  if (!runs.fault.empty()) {
    if (source_us_ == 0) return error(Code::device, "the source cannot be timed: {0}", runs.fault);
    ++refused_;
    return source_us_ * kRefusedTimes;
  }
  // The first call runs the source beside itself. Using that ratio would bias every reward.
  if (source_us_ == 0) return source_us_ = runs.times.first_us;
  return source_us_ / runs.times.ratio;
}

/// Compares with few pairs, and again with more if other programs computed: then the median of few
/// pairs is misleading (graph_clock_bench).
Result<WholeRuns> GraphClock::compared(const Graph& graph) {
  TG_TRY(WholeRuns runs, runs_->compare(source_, graph));
  pairs_ += runs.times.first.runs;
  if (!runs.fault.empty() || runs.disturbance != Disturbance::Heavy) return runs;
  TG_TRY(WholeRuns more, runs_->compare_longer(source_, graph, kTimesIfDisturbed));
  pairs_ += more.times.first.runs;
  return more;
}

} // namespace tg
