#include "runtime/measure/time_runs.h"

#include "lang/core/support/stop.h"

namespace tg {
namespace {

Result<double> timed_run(Executable& executable) {
  Stopwatch watch;
  TG_CHECK(executable.run_once());
  return watch.seconds() * 1e6;
}

/// Returns true if another sample is needed after `done` samples.
bool check_stop(const TimingOptions& options, size_t done, const Stopwatch& watch) {
  if (done > 0 && options.stop.asked()) return false;
  if (options.runs != 0) return done < options.runs;
  if (done < options.min_runs) return true;
  return done < options.max_runs && watch.seconds() < options.seconds;
}

} // namespace

Result<Timing> time_repeated(const TimingOptions& options,
                             llvm::function_ref<Result<double>()> run) {
  for (size_t i = 0; i < options.warmup; ++i) TG_CHECK(run());
  std::vector<double> samples;
  for (Stopwatch watch; check_stop(options, samples.size(), watch);) {
    TG_TRY(double us, run());
    samples.push_back(us);
  }
  return summarise_times(std::move(samples));
}

Result<Timing> time_runs(Executable& executable, const TimingOptions& options) {
  return time_repeated(options, [&] { return timed_run(executable); });
}

Result<Comparison> time_interleaved(Executable& first, Executable& second,
                                    const TimingOptions& options) {
  return time_interleaved([&] { return timed_run(first); }, [&] { return timed_run(second); },
                          options);
}

Result<Comparison> time_interleaved(llvm::function_ref<Result<double>()> first,
                                    llvm::function_ref<Result<double>()> second,
                                    const TimingOptions& options) {
  for (size_t i = 0; i < options.warmup; ++i) {
    TG_CHECK(first());
    TG_CHECK(second());
  }
  std::vector<double> samples[2];
  llvm::function_ref<Result<double>()> programs[2] = {first, second};
  auto pair = [&]() -> Result<void> {
    size_t leader = samples[0].size() % 2;
    for (size_t which : {leader, 1 - leader}) {
      TG_TRY(double us, programs[which]());
      samples[which].push_back(us);
    }
    return {};
  };
  Stopwatch watch;
  while (check_stop(options, samples[0].size(), watch)) TG_CHECK(pair());
  auto undecided = [&] {
    Comparison c = compare_times(samples[0], samples[1], kRunsPerPair);
    return !c.second_faster() && !c.second_slower();
  };
  while (options.runs == 0 && !options.stop.asked() && watch.seconds() < options.patience_seconds &&
         undecided()) {
    size_t goal = 2 * samples[0].size();
    while (samples[0].size() < goal && !options.stop.asked() &&
           watch.seconds() < options.patience_seconds)
      TG_CHECK(pair());
  }
  Comparison times = compare_times(samples[0], samples[1], kRunsPerPair);
  times.cut = samples[0].size() < (options.runs != 0 ? options.runs : options.min_runs);
  return times;
}

} // namespace tg
