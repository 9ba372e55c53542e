// From what the field and float64 say of a pair to a verdict.
//
// The field is equal: float64 may refute (integers that wrap around, indices out of range, a
// difference that no rounding explains), and what else parts is a caveat. The field differs: values
// that part beyond rounding refute; that none was found is evidence only if no integer is behind it
// (of which a sample says nothing about all), and nothing parts at NaN, infinities or where sums
// round. Otherwise the pair is not decided. A threshold that nothing crossed is a caveat.
#pragma once

#include "compiler/equiv/equivalent.h"

namespace tg {

/// The field took the pair for equal; the verdict is `Equal`.
void confirm_in_float64(const Joined& joined, const EquivalenceOptions& options,
                        Equivalence& result);

/// The field differs, at result.field_difference.
void decide_in_float64(const Joined& joined, const EquivalenceOptions& options,
                       Equivalence& result);

} // namespace tg
