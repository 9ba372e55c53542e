// Repeats a chain of rewrites at other sizes: the same rules at the same places of a source that
// has the same operators, with attributes and types of its own. There is no search. (Values that a
// rule computes, such as a new shape, are computed anew, and its conditions are checked anew.)
//
// Terms of the old chain have images among the terms of the new one. The images of the old source
// are the new source's nodes, found in lockstep from the outputs. A step applies if its left side
// has an image that the rule's left side matches, and if the conditions hold there; the right side
// that the rule builds is the image of the old right side. A term that no step built, but that is
// congruent to one with an image (f(b), after f(a) = .. and a = b), has the attributes of that
// image. Steps are tried in passes until none applies.
//
// If a step does not apply at these sizes, terms that need it have no image. They are replaced by
// equal terms that have one, in the worst case by those of the source. So the result always equals
// the new source. verify/replay.h checks that without this file.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"

namespace tg {

struct Instantiated {
  Derivation chain; // from the new source; its `end` is the result
  /// Positions of steps that did not apply: in the old chain's `steps`, then in its `makers`.
  std::vector<size_t> skipped;
  size_t replaced = 0; // terms of the result that an equal term had to replace
};

/// Returns the chain at the sizes of `source`, which has as many outputs as the start of the chain.
/// RuleIds are positions in `rules`.
Instantiated instantiate(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source);

} // namespace tg
