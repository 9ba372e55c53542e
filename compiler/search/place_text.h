// Where a rule was applied, in words: an operator of an e-graph is named by what it is and by the
// nearest weights or inputs below it, which is how people know the layers of a network.
#pragma once

#include "compiler/egraph/egraph.h"

#include <string>

namespace tg {

/// "conv2d f32[1, 64, 54, 54] of fire2.squeeze.weight"; "relu f32[4, 8] of x" where there is no
/// weight. Looks down first operands for a few levels.
std::string place_text(const EGraph& egraph, ENodeId node);

} // namespace tg
