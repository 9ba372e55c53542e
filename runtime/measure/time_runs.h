// Runs and times what a backend has loaded: one program, or two interleaved. What the samples say
// is in lang/core/support/repeated_times.h.
#pragma once

#include "lang/core/support/repeated_times.h"
#include "lang/core/support/stop.h"
#include "runtime/backend.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// How long to measure: at least `min_runs` runs, then until `seconds` are over or `max_runs` done.
/// `runs` other than 0 asks for exactly that many.
struct TimingOptions {
  size_t runs = 0;
  size_t warmup = 2;
  size_t min_runs = 5, max_runs = 300;
  double seconds = 0.5;
  /// Of time_in_turns: where the samples do not decide which program is faster, measuring goes on
  /// for up to so long. Looked at only when the number of pairs has doubled, so that looking often
  /// does not decide by chance.
  double patience_seconds = 0;
  StopToken stop = {}; // one run is enough then
};

/// Microseconds of repeated runs, after those that warm up: each that `run` returns.
/// Errors: its own.
Result<Timing> time_repeated(const TimingOptions& options,
                             llvm::function_ref<Result<double>()> run);

/// Runs and times an executable on its bound inputs. Errors: the device's.
Result<Timing> time_runs(Executable& executable, const TimingOptions& options);

/// Runs two programs interleaved; which goes first alternates. Each call returns the microseconds
/// of a run. What `stop` ended before `runs`, or `min_runs`, is marked as cut. Errors: those of the
/// runs.
Result<Comparison> time_in_turns(llvm::function_ref<Result<double>()> first,
                                 llvm::function_ref<Result<double>()> second,
                                 const TimingOptions& options);
Result<Comparison> time_in_turns(Executable& first, Executable& second,
                                 const TimingOptions& options);

} // namespace tg
