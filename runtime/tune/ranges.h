// Which operators can reuse which, and how far the features of a program may be from those of the
// one that it reuses. Source: ETO (README).
#pragma once

#include "runtime/tune/program.h"

namespace tg::tune {

/// Whether loops are each at most, or each at least, those of the other.
bool comparable(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
/// Same type, same sketches, comparable loops. Parameters do not matter, nor which is larger.
bool can_reuse(const Operator& target, const Operator& reused);

/// How far two operators are that can reuse one another: the logarithms of the ratios of their
/// loops and parameters, summed up.
double distance(const Operator& a, const Operator& b);

/// How much larger the target's loops are than the reused ones':
/// `all` of all loops, `space`, `reduction`.
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
/// Of the ratios of blocks, threads and shared memory of the two programs.
struct FeatureRanges {
  Range blocks, threads, shared;
};
FeatureRanges feature_ranges(const Growth& growth);

/// What of the reused program the search starts from. Loads are elements of one fetch of a block.
struct Footprint {
  int64_t block = 1, threads = 1, rounds = 1; // points of a block, threads of a block, fetches
  double loads = 0, registers = 0;
};
Footprint footprint(const Program& program, const Nest& nest);

/// Points of a block to try, in the order of trying:
/// the fewest blocks first where the target is larger.
std::vector<int64_t> block_sizes(const Growth& growth, const Footprint& reused, int64_t points);
/// Threads of a block of `points` points; fewer than `limit`.
std::vector<int64_t> thread_counts(const Growth& growth, const Footprint& reused, int64_t points,
                                   int64_t limit);
/// Fetches of a block: `load_growth` is what the block loads in as many rounds as the reused one,
/// over what that loads.
std::vector<int64_t> round_counts(const Growth& growth, const Footprint& reused, int64_t points,
                                  double load_growth, int64_t load_extent);
/// As near to the reused block's shared memory as its divisors allow; none if there is none.
std::optional<int64_t> default_rounds(int64_t reused_rounds, double load_growth,
                                      int64_t load_extent);

/// Threads of a flat loop of `length` points, for a program that had `reused` threads.
std::vector<int64_t> flat_threads(const Growth& growth, int64_t reused, int64_t length);
/// Threads that share a reduction of `length` points.
std::vector<int64_t> cross_threads(const Growth& growth, int64_t reused, int64_t length);
/// The same of a norm: threads divide `length`, and all of their points, the idle ones as well,
/// grow no more than the norm.
std::vector<int64_t> norm_threads(int64_t reused, int64_t reused_length, int64_t length);

} // namespace tg::tune
