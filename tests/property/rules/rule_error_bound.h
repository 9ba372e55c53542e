// Bounds the effect of rounding on the left side of a rule, as the measure for its right side.
// A rule that `reassociates` sums the same terms in another order. Its error may be as large
// as the left side's with a few more roundings of each number. A rule whose right side has its own
// larger terms exceeds that bound and is `risky`.
//
// The bound is a forward error analysis to first order (Higham 2002, section 3):
// leaves and results have an error of one roundoff of their magnitude, and products propagate
// errors with the magnitudes of the other factor. So cancelled terms count with their own size,
// not with that of their sum.
#pragma once

#include "tests/property/rules/rule_error.h"

namespace tg {

/// Returns a bound for each element of the left side's result `result` on its distance
/// from float64, if every leaf and every result that is not just moved is rounded once.
/// Returns nullopt if the left side has an operator for which no bound is known.
std::optional<NodeValues> left_error_bound(const RuleErrorCase& rule_case, size_t result);

/// The scale of an error: the bound of its own element, or the largest bound in the result.
/// Fast algorithms (minimal filtering, like Strassen's) only satisfy the second,
/// since their terms include the larger numbers around an element (Higham 2002, section 23.2.2).
enum class ErrorScale : uint8_t { Element, Largest };

/// Returns the largest error of an element of the right side in units of that bound,
/// or 0 if both are 0. Results with an element that is not finite are ignored.
/// Returns nullopt as above.
std::optional<double> right_error_in_bounds(const RuleErrorCase& rule_case,
                                            ErrorScale scale = ErrorScale::Element);

/// Returns the largest number of roundings on a path through the right side:
/// one for the leaf, and one for each operator that does not just move numbers.
size_t right_roundings(const RuleErrorCase& rule_case);

} // namespace tg
