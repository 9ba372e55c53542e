// Compares a pair in float64. This complements the field, which treats some functions as
// uninterpreted and has no NaN, rounding or integer overflow. Tries the adversary's inputs
// (adversarial_inputs.h), then drives operators across their thresholds (crossing.h).
#pragma once

#include "compiler/verify/counterexample/adversarial_inputs.h"
#include "compiler/verify/equivalent.h"

namespace tg {

struct FloatFindings {
  /// Values differ by more than rounding explains.
  std::optional<Counterexample> different;
  /// Values differ, possibly by rounding.
  std::optional<Counterexample> rounded;
  /// One side is not finite and the other is, or both are nonfinite and unequal: at ordinary
  /// inputs, and at NaN or infinite inputs.
  std::optional<Counterexample> not_finite, special;
  /// A result that is not a float changes if sums are rounded.
  std::optional<Counterexample> jumps;
  /// Operators with a threshold that were only evaluated on one side of it: "`clip`".
  std::vector<std::string> unreached;
};

/// `Glance`: a few inputs, for pairs that are equal in the field. The last three fields are only
/// filled if `options.caveats`, and `unreached` only by a `Whole` look.
FloatFindings compare_in_float64(const Joined& joined, const EquivalenceOptions& options,
                                 AdversarialInputs::Effort effort);

/// Returns a counterexample beyond rounding. A quick look, for pairs that are being minimised.
std::optional<Counterexample> find_counterexample(const Joined& joined,
                                                  const EquivalenceOptions& options);

// Combines the results of the field and of float64 to a verdict.
//
// Equal in the field: float64 may refute (integers that wrap around, out-of-range indices, a
// difference that rounding does not explain); any other difference is a caveat. Different in the
// field: a difference beyond rounding refutes. The absence of one is evidence of equality only if
// no integer input is involved (a sample says nothing about all integers), and if nothing differs
// at NaN, infinities or where sums round. Otherwise the pair is undecided. A threshold that was
// never crossed is a caveat.

/// Requires that the pair is equal in the field, and the verdict is `Equal`.
void confirm_in_float64(const Joined& joined, const EquivalenceOptions& options,
                        Equivalence& result);

/// The field differs, at result.field_difference. `simple`: the pair with its integers rewritten
/// (integers.h), or itself.
void decide_in_float64(const Joined& joined, const Joined& simple,
                       const EquivalenceOptions& options, Equivalence& result);

} // namespace tg
