// What float64 says of a pair: beside the field, which takes functions for arbitrary ones and knows
// no NaN, no rounding and no end of the integers. Tries the adversary's inputs (adversary.h), then
// drives what has a threshold across it (crossing.h).
#pragma once

#include "compiler/verify/counterexample/adversary.h"
#include "compiler/verify/equivalent.h"

namespace tg {

struct FloatFindings {
  /// Values part, and no rounding explains it.
  std::optional<Counterexample> different;
  /// Values part as rounding may part them.
  std::optional<Counterexample> rounded;
  /// Numbers where one side is not finite and the other is, or both are not alike: at ordinary
  /// inputs, and at inputs that are NaN or infinite.
  std::optional<Counterexample> not_finite, special;
  /// A result that is no float jumps where sums are rounded.
  std::optional<Counterexample> jumps;
  /// Operators that have a threshold and were seen on one side of it alone: "`clip`".
  std::vector<std::string> unreached;
};

/// `Glance`: a few inputs, for pairs that the field takes for equal. The last three fields are
/// filled if `options.caveats`, `unreached` in a `Whole` look.
FloatFindings look_in_float64(const Joined& joined, const EquivalenceOptions& options,
                              Adversary::Effort effort);

/// The pair differs beyond rounding: a quick look, for pairs that are being made small.
std::optional<Counterexample> find_counterexample(const Joined& joined,
                                                  const EquivalenceOptions& options);

// From what the field and float64 say of a pair to a verdict.
//
// The field is equal: float64 may refute (integers that wrap around, indices out of range, a
// difference that no rounding explains), and what else parts is a caveat. The field differs: values
// that part beyond rounding refute; that none was found is evidence only if no integer is behind it
// (of which a sample says nothing about all), and nothing parts at NaN, infinities or where sums
// round. Otherwise the pair is not decided. A threshold that nothing crossed is a caveat.

/// The field took the pair for equal; the verdict is `Equal`.
void confirm_in_float64(const Joined& joined, const EquivalenceOptions& options,
                        Equivalence& result);

/// The field differs, at result.field_difference. `simple`: the pair with its integers rewritten
/// (integers.h), or itself.
void decide_in_float64(const Joined& joined, const Joined& simple,
                       const EquivalenceOptions& options, Equivalence& result);

} // namespace tg
