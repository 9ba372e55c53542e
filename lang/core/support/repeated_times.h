// Statistics of repeated timings, and the comparison of two interleaved programs.
// On a shared machine single figures mean little. So timings are medians with their spread,
// and differences are decided on pairs of neighbouring runs, so that a change
// of the machine's speed affects both. runtime/measure/machine_watch.h detects other programs.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tg {

/// How much of the machine other programs used while something was timed.
enum class Disturbance : uint8_t {
  None,   // nothing that matters
  Slight, // too little to mislead much: a second time that agrees settles it
  Heavy,  // enough to mislead, differently each time
};

/// Statistics of a list of durations, in microseconds.
struct Timing {
  size_t runs = 0;
  double median_us = 0, p10_us = 0, p90_us = 0, min_us = 0;
};

/// Requires at least one sample. Percentiles use linear interpolation.
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
  /// The median of the first over pairs, and the comparable time of the second, `first_us / ratio`.
  /// On a busy machine two medians are from different moments; only the ratio compares the same
  /// ones.
  double first_us = 0, second_us = 0;
  bool remembered = false; // from earlier runs: only the medians are known
  bool cut = false;        // ended before the requested number of runs, so it decides nothing
  /// Returns true if the second is faster beyond the noise, and also by the medians.
  bool second_faster() const { return !cut && low > 1 && second.median_us < first.median_us; }
  bool second_slower() const { return high < 1; }
};

/// The number of runs whose least is one side of a pair.
inline constexpr size_t kRunsPerPair = 3;

/// Requires equal numbers of samples, at least one. Samples are grouped by `runs_per_pair`;
/// the last group may be smaller.
Comparison compare_times(llvm::ArrayRef<double> first_us, llvm::ArrayRef<double> second_us,
                         size_t runs_per_pair = 1);

} // namespace tg
