// What float64 says of a pair: beside the field, which takes functions for arbitrary ones and knows
// no NaN, no rounding and no end of the integers. Tries the adversary's inputs (adversary.h), then
// drives what has a threshold across it (crossing.h).
#pragma once

#include "compiler/equiv/counterexample/adversary.h"
#include "compiler/equiv/equivalent.h"

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

} // namespace tg
