// The kinds of numbers that break rules, for tensors, constants and attributes alike: of both
// signs, zero, one, equal ones, tiny and huge ones, what is no ordinary number. A rule is verified
// only if each kind that its class of numerics speaks of was among the numbers that it was tried
// with.
#pragma once

#include "compiler/rules/rule.h"

namespace tg {

enum class Partition : uint8_t {
  Ordinary,  // of both signs, below 1; integers small, indices in range
  Positive,  // above 0
  Negative,  // below 0
  Zero,      // of either sign
  One,       //
  Ties,      // small whole numbers of both signs: many are equal
  Equal,     // the same number in all elements of all tensors
  Tiny,      // millionths
  Large,     // some tens
  Threshold, // at and around the numbers in the rule (verify/counterexample/probe.h)
  Huge,      // near the largest of the dtype
  Denormal,  // near the smallest
  Infinite,  // of either sign
  NotANumber,
  Extreme,    // of integers: the ends of the dtype, and what no float holds; of indices the ends
  OutOfRange, // of indices
};
inline constexpr size_t kPartitions = 16;

llvm::StringRef partition_name(Partition partition); // "negative"

/// Beyond the numbers that only an `exact` rule speaks of: sums in another order may overflow.
inline bool is_special(Partition p) {
  return p == Partition::Huge || p == Partition::Denormal || p == Partition::Infinite ||
         p == Partition::NotANumber;
}

/// Whether a tensor of this dtype, of indices or not, has numbers of this kind of which a rule of
/// the class says something.
bool has_partition(DType dtype, bool index, Numerics numerics, Partition partition);

/// A number of a float dtype, from 64 random bits. Not of Equal, Threshold, Extreme or OutOfRange,
/// which need more than a dtype: these are as Ordinary here.
double number_in(Partition partition, DType dtype, uint64_t bits);

/// The same of an integer dtype or bool; `limit` is what indices are below, 0 for other integers.
int64_t whole_in(Partition partition, DType dtype, int64_t limit, uint64_t bits);

/// Which a number that stands alone is in, the most particular first.
Partition partition_of(double number);

} // namespace tg
