// A counterexample as a person reads it: the tensors and what the two sides make of them, on a
// line.
#pragma once

#include "compiler/equiv/equivalent.h"

namespace tg {

/// "x = [[-1, 2]], c = -2: left 4, right -2": small leaves whole, of large ones what is not zero.
/// "" where the counterexample does not hold all that is not zero.
std::string example_text(const Graph& graph, const Counterexample& example);

} // namespace tg
