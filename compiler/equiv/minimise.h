// Counterexamples in float64, made small: most of the inputs zero, what is left small integers
// where these still show the difference.
#pragma once

#include "compiler/equiv/equivalent.h"

namespace tg {

/// nullopt if both sides agree at every probe. Evaluates at most a few hundred times, and no more
/// than some 10^10 operations beyond the probes themselves.
std::optional<Counterexample> find_counterexample(const Joined& joined,
                                                  const EquivalenceOptions& options);

/// Floating-point operations of one evaluation of all nodes; an element of a result counts as one.
double evaluation_flops(const Graph& graph);

} // namespace tg
