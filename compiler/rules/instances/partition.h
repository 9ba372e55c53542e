// The kinds of numbers that break rules, for tensors, constants and attributes alike: both signs,
// zero, one, equal ones, tiny and huge ones, and special values. A rule is verified only if it was
// tested with each kind of numbers that its class of numerics covers.
#pragma once

#include "compiler/rules/rule.h"

namespace tg {

enum class Partition : uint8_t {
  Ordinary,  // of both signs, below 1; small integers; indices in range
  Positive,  // above 0
  Negative,  // below 0
  Zero,      // of either sign
  One,       //
  Ties,      // small integers of both signs, many of them equal
  Equal,     // the same number in all elements of all tensors
  Tiny,      // millionths
  Large,     // some tens
  Threshold, // at and around the numbers in the rule (verify/counterexample/probe.h)
  Huge,      // near the largest of the dtype
  Denormal,  // near the smallest of the dtype
  Infinite,  // of either sign
  NotANumber,
  Extreme,    // integers: ends of the dtype, or not exact as floats; indices: the ends
  OutOfRange, // of indices
};
inline constexpr size_t kPartitions = 16;

llvm::StringRef partition_name(Partition partition); // "negative"

/// Returns true for numbers that only `exact` rules cover, since sums in another order may
/// overflow.
inline bool is_special(Partition p) {
  return p == Partition::Huge || p == Partition::Denormal || p == Partition::Infinite ||
         p == Partition::NotANumber;
}

/// Returns true if a tensor of this dtype, of indices or not, can have numbers of this kind that
/// the class covers.
bool has_partition(DType dtype, bool index, Numerics numerics, Partition partition);

/// Returns a number of a float dtype, from 64 random bits. Equal, Threshold, Extreme and OutOfRange
/// need more than a dtype and are treated as Ordinary here.
double number_in(Partition partition, DType dtype, uint64_t bits);

/// The same for an integer dtype or bool; `limit` is an exclusive bound on indices, 0 for
/// other integers.
int64_t integer_in(Partition partition, DType dtype, int64_t limit, uint64_t bits);

/// Returns the most specific partition of a single number.
Partition partition_of(double number);

} // namespace tg
