// The FinalistRunner that builds and times whole graphs on a backend of this machine.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "compiler/trial/loaded_graphs.h"
#include "runtime/measure/cost_db.h"
#include "runtime/measure/machine_watch.h"

namespace tg {

/// The beginning of the note on denormal numbers.
inline constexpr llvm::StringRef kDenormalsTurnUp = "denormal numbers occur";

/// Adds a round of whole runs. Each time is the median within the round, and the minimum over all
/// rounds. Errors: the device's.
Result<void> add_round(PlacedNodes& placed, Prepared& prepared, const TimingOptions& timing);

/// Compares graphs on a backend, interleaved, on equal random weights and inputs, in options.dtype.
class BackendFinalists : public FinalistRunner {
public:
  /// `time` replaces the options' stop. `guessed` is that of TimePlan::comparison().
  BackendFinalists(PrepareOptions options, TimingOptions timing, TimePlan time,
                   bool guessed = false)
      : loaded_(that_stop(std::move(options), time)), timing_(std::move(timing)),
        time_(std::move(time)), guessed_(guessed) {
    timing_.stop = this->options().stop;
  }
  explicit BackendFinalists(const PrepareOptions& options, TimingOptions timing = precise_timing())
      : BackendFinalists(options, std::move(timing), TimePlan(options.stop)) {}
  /// The timing of comparisons whose prices were measured.
  static TimingOptions precise_timing() {
    return {.min_runs = 15, .seconds = 1.5, .patience_seconds = 8};
  }
  Result<WholeRuns> compare(const Graph& first, const Graph& second) override {
    return compare(first, second, timing_);
  }
  Result<WholeRuns> compare_longer(const Graph& first, const Graph& second, size_t times) override;
  Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                              llvm::ArrayRef<const Graph*> graphs) override;

  /// Keeps the graphs loaded for later comparisons. Times are minima over rounds, and temporary if
  /// numbers are unusual or kernels may change. Not supported in another dtype, on a backend with
  /// its own way to time, and for a graph whose memory the search would need.
  Result<std::vector<PlacedNodes>> time_in_place(const Graph& source, const Graph* other) override;

  /// Tolerance of a finalist's outputs against the source's (max_rel_diff).
  double bound() const;

private:
  Result<WholeRuns> compare(const Graph& first, const Graph& second, TimingOptions timing);
  /// Returns true if loading the graph whole would take much of the memory limit, and long.
  bool is_run_in_parts(const Graph& graph) const;
  /// Applies to loading as well, because a large network takes seconds. A small finding may still
  /// be compared with the source afterwards; a large one is not returned.
  static PrepareOptions that_stop(PrepareOptions options, const TimePlan& time) {
    options.stop = options.interrupt = time.whole_runs();
    return options;
  }
  const PrepareOptions& options() const { return loaded_.options(); }
  /// For work without a grace, which is everything but the last comparison.
  bool stopped() const { return time_.end().asked(); }
  bool times_in_place(const Graph& graph) const;
  /// Returns true if the operators take as long in other models. False for the user's own kernels,
  /// and for denormal or NaN values, for which kernels run twice.
  bool on_usual_numbers(LoadedGraph& loaded) const;
  Result<ScreeningResult> screen_one(const Graph& graph, const LoadedGraph& source);
  /// Starts watching. Returns null for a device whose load by others cannot be observed here. The
  /// watch knows the yardstick's times in earlier processes, because this process may run in a busy
  /// hour.
  MachineWatch* watch_for(const Prepared& prepared);

  LoadedGraphs loaded_;
  TimingOptions timing_;
  TimePlan time_;
  bool guessed_;
  std::unique_ptr<CostDb> database_; // for the yardstick, like the watch, created on first use
  std::unique_ptr<MachineWatch> watch_;
};

} // namespace tg
