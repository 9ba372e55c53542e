// Statistics of repeated timings, and the comparison of two programs that run interleaved. On a
// machine that others use too, single figures mean little: medians with their spread, and
// differences decided on pairs of neighbouring runs, so that a change of the machine's speed meets
// both. Whether others computed meanwhile: runtime/measure/machine_watch.h.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tg {

/// How much of the machine others took while something was timed.
enum class Disturbance : uint8_t {
  None,   // nothing that matters
  Slight, // so little that it cannot mislead by much: a second time that agrees makes it sure
  Heavy,  // as much as to mislead, each time anew
};

/// Of a list of durations, microseconds.
struct Timing {
  size_t runs = 0;
  double median_us = 0, p10_us = 0, p90_us = 0, min_us = 0;
};

/// Requires at least one sample. Percentiles by linear interpolation.
Timing summarise_times(std::vector<double> samples_us);

/// Two programs timed interleaved. `ratio` is the median of first / second over pairs (above 1: the
/// second is faster), [low, high] its 95% confidence interval by order statistics
/// (distribution-free; Conover, Practical Nonparametric Statistics, section 3.2). A pair is the
/// least of some neighbouring runs of each: what others do on the machine only ever adds time, in
/// bursts.
///
/// Times that are shown beside the ratio are `first_us` and `second_us`, which have that ratio.
struct Comparison {
  Timing first, second; // of all runs
  double ratio = 1, low = 0, high = 0;
  /// The median of the first over pairs, and what the second takes beside that: `first_us / ratio`.
  /// On a busy machine two medians are of different moments; only the ratio is of the same ones.
  double first_us = 0, second_us = 0;
  bool remembered = false; // from earlier runs: of both, the median alone is known
  bool cut = false; // ended before there were as many runs as were asked for: decides nothing
  /// Faster beyond the noise, and by the medians too.
  bool second_faster() const { return !cut && low > 1 && second.median_us < first.median_us; }
  bool second_slower() const { return high < 1; }
};

/// Runs whose least makes a pair of a comparison.
inline constexpr size_t kRunsPerPair = 3;

/// Requires as many second as first samples, at least one. Samples are grouped by `runs_per_pair`;
/// a last group may be smaller.
Comparison compare_times(llvm::ArrayRef<double> first_us, llvm::ArrayRef<double> second_us,
                         size_t runs_per_pair = 1);

} // namespace tg
