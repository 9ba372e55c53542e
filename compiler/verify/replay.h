// Replays a chain of rewrites on terms and checks each step against its rule's own text: the
// checker of explanations. It knows nothing of the e-graph, nor of how the chain was found.
//
// A step is right if its rule's conditions hold of what its variables stand for, and if each node
// that it exchanges is one side of the rule at these, and what is put there the other side. The
// chain is right if all its steps are and if its last outputs equal its first ones by these
// equations and congruence alone, which a closure of its own shows: work and memory are those of
// the terms, however many steps lie above one another. The native rules, which have no text, are
// checked against what they keep: both sides are the same once every fused_map is written out.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

namespace tg {

/// What replay() says where it was ended.
inline constexpr llvm::StringLiteral kReplayStopped = "it was stopped";

/// Empty if the chain leads from one graph to the other, else what is wrong and at which step,
/// counted from 1.
std::string replay(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source,
                   const Graph& result, const StopToken& stop = {});

} // namespace tg
