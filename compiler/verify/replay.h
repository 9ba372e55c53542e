// Replays a chain of rewrites on terms and checks each step against the text of its rule: the
// checker of explanations. It does not depend on the e-graph or on how the chain was found.
//
// A step is correct if its rule's conditions hold for its bindings, and if each node that it
// replaces is one side of the rule at these bindings and the replacement is the other side. The
// chain is correct if all steps are and if its last outputs equal its first ones by these equations
// and congruence alone. A congruence closure checks this, so time and memory depend on the terms,
// not on the number of steps. Native rules have no text and are checked by their invariant: both
// sides are the same once every fused_map is expanded.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

namespace tg {

/// The result of replay() when it was stopped.
inline constexpr llvm::StringLiteral kReplayStopped = "it was stopped";

/// Returns an empty string if the chain leads from one graph to the other, otherwise the fault and
/// its step, counted from 1.
std::string replay(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source,
                   const Graph& result, const StopToken& stop = {});

} // namespace tg
