// Whether two graphs are the same computation, node for node: the numbering of nodes does not
// matter, everything that can be seen from outside does.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Same inputs (names, types, order), same outputs (names, order) and, below them, the same
/// operators with the same attributes and operands. The graphs may have different Symbols. Empty if
/// so, else where they first differ. Linear in the size of the graphs.
std::string difference(const Graph& a, const Graph& b);

/// The same for graphs that do not differ, and for no others that one will meet (SHA-1): 40
/// hexadecimal digits.
std::string digest(const Graph& graph);

} // namespace tg
