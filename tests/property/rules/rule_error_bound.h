// What rounding can do to the left side of a rule: the yardstick for its right
// side. A rule that `reassociates` sums the same terms in another order, so it
// may err as much as its left side would if each number in it had been rounded
// a few times more. A rule whose right side has terms of its own, larger than
// those of the left, errs more than that and is `risky`.
//
// Forward error analysis to first order (Higham 2002, section 3): leaves and
// results are off by one roundoff of their magnitude, and errors go through
// products with the magnitudes of the other factor. So what cancels counts with
// the size of its terms, not with that of their sum.
#pragma once

#include "tests/property/rules/rule_error.h"

namespace tg {

/// For each element of the left side's result `result`, a bound on its distance
/// from float64 where every leaf and every result that is not merely moved is
/// rounded once. nullopt if the left side has an operator for which no bound is
/// known.
std::optional<NodeValues> left_error_bound(const RuleErrorCase& rule_case, size_t result);

/// What an error is compared with: the bound of its own element, or the largest of
/// the result's. Fast algorithms (minimal filtering, as Strassen's) keep the second
/// alone: their terms are the larger numbers around an element, too (Higham 2002,
/// section 23.2.2).
enum class ErrorScale : uint8_t { Element, Largest };

/// The largest error of an element of the right side in units of that bound; 0
/// where both are 0. Results of which an element is not finite are left out.
/// nullopt as above.
std::optional<double> right_error_in_bounds(const RuleErrorCase& rule_case,
                                            ErrorScale scale = ErrorScale::Element);

/// How often a number on its way through the right side may be rounded: once as
/// a leaf, and once by each operator that is not a mere move.
size_t right_roundings(const RuleErrorCase& rule_case);

} // namespace tg
