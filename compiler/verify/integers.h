// Integers and bools of a pair, rewritten by laws that hold for all of them, overflows included.
// The field takes quotients, remainders and comparisons for arbitrary functions, so it does not
// know that a remainder is below its divisor, or what a select takes where two numbers are equal.
// Two graphs that differ in this alone are one after it.
#pragma once

#include "compiler/verify/join.h"

namespace tg {

/// The same functions, for inputs within their ranges. nullopt if there is nothing to rewrite.
std::optional<Joined> with_simple_integers(const Joined& joined);

} // namespace tg
