// Rewrites integers and bools of a pair by laws that hold for all values, overflows included. The
// field treats quotients, remainders and comparisons as arbitrary functions, so it cannot use, for
// example, that a remainder is below its divisor. Two graphs that differ only in such facts become
// one graph.
#pragma once

#include "compiler/verify/join.h"

namespace tg {

/// Returns graphs of the same functions for inputs within their ranges, or nullopt if there is
/// nothing to rewrite.
std::optional<Joined> with_simple_integers(const Joined& joined);

} // namespace tg
