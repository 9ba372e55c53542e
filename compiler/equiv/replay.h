// Replays a chain of rewrites on terms and holds each step against its rule's own text: the checker
// of explanations. It knows nothing of the e-graph, nor of how the chain was found.
//
// A step is right if its rule's conditions hold of what its variables stand for; if each node that
// it exchanges is one side of the rule at these, and what is put there the other side; and if the
// outputs after it are those before it with these nodes exchanged, here or there, and nothing else
// changed. The native rules, which have no text, are held against what they keep: both sides are
// the same once every fused_map is written out.
#pragma once

#include "compiler/egraph/derivation.h"
#include "compiler/egraph/rule.h"

namespace tg {

/// Empty if the chain leads from one graph to the other, else what is wrong and at which step,
/// counted from 1.
std::string replay(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source,
                   const Graph& result);

} // namespace tg
