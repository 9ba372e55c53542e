// Literals are rationals: of two small functions that float64 cannot tell apart, whether their
// literals are other numbers, or the same ones rounded.
//
// A literal is the rational of its decimal text, which may stand for a number that it was rounded
// from: 0.3333333333333333 for a third, 0.30000000000000004 for 0.1 * 3. So both sides are computed
// with more digits than float64 has (extended.h), and once more for each literal with that one
// moved by a unit in its last place: half of it for the rounding of the literal itself, half for
// that of the operation that it was folded by. A difference that all these movements together do
// not make is a difference of the functions: 1.00000000000001 is not 1.
#pragma once

#include "compiler/verify/counterexample/trial.h"

namespace tg {

/// Returns the first element of a float output at which the sides differ, although not by what
/// float64 tells from rounding: neither rounded literals nor the rounding of the evaluation itself
/// explain it. nullopt too where this cannot say: large graphs, many literals, operators whose
/// definition computes in float64.
std::optional<Trial::Difference> run_by_literals(const Trial& trial, const LeafValues& values);

} // namespace tg
