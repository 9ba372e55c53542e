// Counterexamples in float64, made small: most of the inputs zero, what is left small integers
// where these still show the difference.
#pragma once

#include "compiler/equiv/counterexample/adversary.h"
#include "compiler/equiv/equivalent.h"

namespace tg {

/// What `attempt` shows at `difference`; `minimise` makes it small first. Evaluates at most a few
/// hundred times, and no more than some 10^10 operations.
Counterexample counterexample_of(const Trial& trial, Attempt attempt, Trial::Difference difference,
                                 bool minimise);

/// Floating-point operations of one evaluation of all nodes; an element of a result counts as one.
double evaluation_flops(const Graph& graph);

/// A counterexample as a person reads it: the tensors and what the two sides make of them, on a
/// line: "x = [[-1, 2]], c = -2: left 4, right -2": small leaves whole, of large ones what is not
/// zero.
/// "" where the counterexample does not hold all that is not zero.
std::string example_text(const Graph& graph, const Counterexample& example);

} // namespace tg
