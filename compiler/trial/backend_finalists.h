// The FinalistRunner that builds and times whole graphs on a backend of this machine.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "compiler/trial/loaded_graphs.h"
#include "runtime/measure/cost_db.h"
#include "runtime/measure/machine_watch.h"

namespace tg {

/// The beginning of the note about them.
inline constexpr llvm::StringRef kDenormalsTurnUp = "denormal numbers turn up";

/// One more round of whole runs, of which each figure's median is taken: of all rounds the least
/// counts. Errors: the device's.
Result<void> add_round(PlacedNodes& placed, Prepared& prepared, const TimingOptions& timing);

/// Compares graphs on a backend, interleaved, on equal random weights and inputs, in options.dtype.
class BackendFinalists : public FinalistRunner {
public:
  /// `time` takes the place of the options' stop. `guessed` is that of TimePlan::comparison().
  BackendFinalists(PrepareOptions options, TimingOptions timing, TimePlan time,
                   bool guessed = false)
      : loaded_(that_stop(std::move(options), time)), timing_(std::move(timing)),
        time_(std::move(time)), guessed_(guessed) {
    timing_.stop = this->options().stop;
  }
  explicit BackendFinalists(const PrepareOptions& options, TimingOptions timing = careful())
      : BackendFinalists(options, std::move(timing), TimePlan(options.stop)) {}
  /// The timing of comparisons whose prices were measured.
  static TimingOptions careful() { return {.min_runs = 15, .seconds = 1.5, .patience_seconds = 8}; }
  Result<WholeRuns> compare(const Graph& first, const Graph& second) override {
    return compare(first, second, timing_);
  }
  Result<WholeRuns> compare_longer(const Graph& first, const Graph& second, size_t times) override;
  Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                              llvm::ArrayRef<const Graph*> graphs) override;

  /// The graphs stay loaded for the comparisons to come. Least figures of rounds; passing where
  /// numbers are unusual, or kernels others tomorrow. Not done where another type is run;
  /// where the backend has its own way to time; nor where a graph takes memory that a search would
  /// miss.
  Result<std::vector<PlacedNodes>> time_in_place(const Graph& source, const Graph* other) override;

  /// By how much a finalist's outputs may differ from the source's (max_rel_diff).
  double bound() const;

private:
  Result<WholeRuns> compare(const Graph& first, const Graph& second, TimingOptions timing);
  /// Returns true if loading the graph whole would take much of the memory limit, and long.
  bool is_run_in_parts(const Graph& graph) const;
  /// Also while they load, since a large network takes seconds. What was found by then may still
  /// meet the source, if it is small: else it is not returned.
  static PrepareOptions that_stop(PrepareOptions options, const TimePlan& time) {
    options.stop = options.interrupt = time.whole_runs();
    return options;
  }
  const PrepareOptions& options() const { return loaded_.options(); }
  /// Of what has no grace: it is not the last comparison.
  bool stopped() const { return time_.end().asked(); }
  bool times_in_place(const Graph& graph) const;
  /// Returns true if its operators take as long in other models: not with kernels of the user's
  /// own, nor where numbers are denormal, or NaN, for which kernels run twice.
  bool on_usual_numbers(LoadedGraph& loaded) const;
  Result<ScreeningResult> screen_one(const Graph& graph, const LoadedGraph& source);
  /// From now on; null for a device on which nobody else's work shows here. It knows what its
  /// yardstick took in earlier processes: this one may live in a busy hour.
  MachineWatch* watch_for(const Prepared& prepared);

  LoadedGraphs loaded_;
  TimingOptions timing_;
  TimePlan time_;
  bool guessed_;
  std::unique_ptr<CostDb> database_; // of the yardstick, as is the watch there once it is needed
  std::unique_ptr<MachineWatch> watch_;
};

} // namespace tg
