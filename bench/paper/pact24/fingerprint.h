// Hashes of e-graph states, so that a search that reaches a state again recognises it.
#pragma once

#include "compiler/egraph/egraph.h"

namespace tg::paper {

/// Returns a hash of the state that depends neither on the order of the steps that led to it nor on
/// the numbering of nodes and classes: a sum over classes of the hashes of their terms, computed
/// bottom up. Covers the usable nodes below the roots. Comparable only within one symbol table.
uint64_t fingerprint(const EGraph& egraph);

} // namespace tg::paper
