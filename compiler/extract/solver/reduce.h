// Reductions: the same problem, smaller, without losing its optimum. What decides the time of an
// ILP is its size, and most of an extraction problem needs no decision:
//   - nodes that cannot be used, or whose children cannot be extracted, go;
//   - classes that cost nothing at all (inputs, weights and what is computed from them at load) are
//     settled as greedy has them and vanish from the children of others;
//   - a node whose children include another's, at no lower cost, is dominated and goes;
//   - what the roots do not reach goes;
//   - a class that every solution uses is a root, and is no child of anyone: it is there anyway;
//   - a class with one node, needed by one node, is contracted into it;
//   - nodes go that some best choice does without (prune.h), and all begins anew.
// What is left falls into parts that have nothing to do with each other: each can be solved alone.
// Stored bytes are respected where the problem bounds them.
#pragma once

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

#include <optional>

namespace tg {

struct ReducedProblem {
  /// Sealed; roots once each, without those that cost nothing. Every solution uses its roots, and
  /// they are children only where a cycle might close.
  ExtractionProblem problem;
  /// By node of `problem`: the node of the original that it stands for.
  std::vector<NodeIx> origin;
  /// By class of the original: its class in `problem`, or invalid.
  std::vector<ClassIx> class_in_reduced;
  /// By class of the original: what was settled on the way.
  Choice settled;
  /// A choice for the original from one for `problem`. Acyclic and complete if that is.
  Choice expand(const ExtractionProblem& original, const Choice& reduced) const;
};

/// `greedy` is the problem's own (it says what can be extracted). All roots must be extractable.
/// nullopt where `stop`, asked now and then, said so: never if it is empty.
std::optional<ReducedProblem> reduce(const ExtractionProblem& problem, const GreedyResult& greedy,
                                     llvm::function_ref<bool()> stop = {});

} // namespace tg
