// Literals as rationals: for two small functions that float64 cannot distinguish, decides whether
// their literals are different numbers, or the same numbers rounded.
//
// A literal is the rational of its decimal text, which may be the rounding of another number:
// 0.3333333333333333 for a third, 0.30000000000000004 for 0.1 * 3. So both sides are evaluated with
// more digits than float64 has (extended.h), and once more for each literal with that literal moved
// by one unit in its last place: half a unit for the rounding of the literal itself, and half for
// the operation by which it was folded. A difference that exceeds the sum of these movements is a
// difference of the functions: 1.00000000000001 is not 1.
#pragma once

#include "compiler/verify/counterexample/trial.h"

namespace tg {

/// Returns the first element of a float output at which the sides differ, although float64 cannot
/// distinguish the difference from rounding: neither rounded literals nor the rounding of the
/// evaluation explain it. Also returns nullopt if this cannot decide: large graphs, many literals,
/// operators whose definition computes in float64.
std::optional<Trial::Difference> run_by_literals(const Trial& trial, const LeafValues& values);

} // namespace tg
