// Determines which operators can reuse which, and how far the features of a program may be
// from those of the reused program. Source: ETO (README).
#pragma once

#include "runtime/tune/program.h"

namespace tg::tune {

/// Returns true if each loop is at most, or each at least, the corresponding loop of the other.
bool comparable(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
/// Returns true for the same type, the same sketches and comparable loops.
/// Parameters do not matter, nor does which operator is larger.
bool can_reuse(const Operator& target, const Operator& reused);

/// Returns the distance of two operators that can reuse each other:
/// the sum of the logarithms of the ratios of their loops and parameters.
double distance(const Operator& a, const Operator& b);

/// The ratio of the target's loops to the reused operator's: `all` for all loops, `space`,
/// `reduction`.
struct Growth {
  double all = 1, space = 1, reduction = 1;
};
Growth growth(const Operator& target, const Operator& reused);
Growth growth(double target_space, double target_reduction, double reused_space,
              double reused_reduction);

struct Range {
  double low, high;
  bool operator==(const Range&) const = default;
};
/// Ranges of the ratios of blocks, threads and shared memory between the two programs.
struct FeatureRanges {
  Range blocks, threads, shared;
};
FeatureRanges feature_ranges(const Growth& growth);

/// The values of the reused program from which the search starts.
/// Loads are elements of one fetch of a block.
struct Footprint {
  int64_t block = 1, threads = 1, rounds = 1; // points of a block, threads of a block, fetches
  double loads = 0, registers = 0;
};
Footprint footprint(const Program& program, const Nest& nest);

/// Returns the block sizes (in points) to try, in order. If the target is larger,
/// the fewest blocks come first.
std::vector<int64_t> block_sizes(const Growth& growth, const Footprint& reused, int64_t points);
/// Returns the thread counts for a block of `points` points; all are below `limit`.
std::vector<int64_t> thread_counts(const Growth& growth, const Footprint& reused, int64_t points,
                                   int64_t limit);
/// Returns the fetch counts of a block. `load_growth` is the ratio of this block's loads
/// to those of the reused block, at the same number of rounds.
std::vector<int64_t> round_counts(const Growth& growth, const Footprint& reused, int64_t points,
                                  double load_growth, int64_t load_extent);
/// Returns the number of rounds whose shared memory is as near to the reused block's
/// as the divisors allow; nullopt if there is none.
std::optional<int64_t> default_rounds(int64_t reused_rounds, double load_growth,
                                      int64_t load_extent);

/// Returns the thread counts of a flat loop of `length` points,
/// for a program that had `reused` threads.
std::vector<int64_t> flat_threads(const Growth& growth, int64_t reused, int64_t length);
/// Returns the numbers of threads that share a reduction of `length` points.
std::vector<int64_t> cross_threads(const Growth& growth, int64_t reused, int64_t length);
/// The same for a norm: threads divide `length`, and the points of all threads,
/// including idle ones, grow no more than the norm.
std::vector<int64_t> norm_threads(int64_t reused, int64_t reused_length, int64_t length);

} // namespace tg::tune
