// Runs and times a loaded program, or two programs interleaved.
// lang/core/support/repeated_times.h evaluates the samples.
#pragma once

#include "lang/core/support/repeated_times.h"
#include "lang/core/support/stop.h"
#include "runtime/backend.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// How long to measure: at least `min_runs` runs, then until `seconds` have passed
/// or `max_runs` are done. `runs` other than 0 is the exact number of runs.
struct TimingOptions {
  size_t runs = 0;
  size_t warmup = 2;
  size_t min_runs = 5, max_runs = 300;
  double seconds = 0.5;
  /// For time_interleaved: if the samples do not decide which program is faster,
  /// measuring continues for up to this time. The decision is checked only when the number
  /// of pairs has doubled, because frequent checks would decide by chance.
  double patience_seconds = 0;
  StopToken stop = {}; // one run is enough then
};

/// Returns the microseconds of repeated runs after the warm-up: each value that `run` returns.
/// Errors: those of `run`.
Result<Timing> time_repeated(const TimingOptions& options,
                             llvm::function_ref<Result<double>()> run);

/// Runs and times an executable on its bound inputs. Errors: the device's.
Result<Timing> time_runs(Executable& executable, const TimingOptions& options);

/// Runs two programs interleaved; which goes first alternates.
/// Each call returns the microseconds of a run. If `stop` ended it before `runs` or `min_runs`,
/// the result is marked as cut. Errors: those of the runs.
Result<Comparison> time_interleaved(llvm::function_ref<Result<double>()> first,
                                    llvm::function_ref<Result<double>()> second,
                                    const TimingOptions& options);
Result<Comparison> time_interleaved(Executable& first, Executable& second,
                                    const TimingOptions& options);

} // namespace tg
