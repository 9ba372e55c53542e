// Reductions: the same problem, smaller, without losing its optimum. What decides the time of an
// ILP is its size, and most of an extraction problem needs no decision:
//   - nodes that cannot be used, or whose children cannot be extracted, go;
//   - classes that cost nothing at all (inputs, weights and what is computed from them at load) are
//     settled as greedy has them and vanish from the children of others;
//   - a node whose children include another's, at no lower cost, is dominated and goes;
//   - what the roots do not reach goes;
//   - a class that every solution uses is a root, and is no child of anyone: it is there anyway;
//   - a class with one node, needed by one node, is contracted into it;
//   - nodes go that some best choice does without (below), and all begins anew.
// What is left falls into parts that have nothing to do with each other: each can be solved alone.
// Stored bytes are respected where the problem bounds them.
#pragma once

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/poll.h"
#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>
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

// Nodes that some best choice does without. What every derivation of a class needs (its landmarks,
// as in planning without deletes: Keyder, Richter and Helmert 2010) says more than its children do:
//   - a node that cannot be had without its own class is in no acyclic choice;
//   - the landmarks of a node and those of the roots, each at its least cost, bound what a choice
//     with this node costs: above a choice that is known, it is in no best one;
//   - where a node is chosen, all that it cannot be had without is there as well, so another node
//     of the class pays only for the rest of its children: if that, as trees at most, is less than
//     what the first costs together with what only it uses, the first is in no best choice.

/// Sets of landmarks take the square of the classes in bits: 50 MB here.
inline constexpr size_t kMostForLandmarks = 20'000;

/// By class, the classes that are in each of its derivations, itself included: the greatest sets
/// with needs(c) = {c} + intersection over nodes n of c of the union over children d of n of
/// needs(d). Classes that cannot be derived need everything. Where `poll` ends it, the sets are too
/// large.
std::vector<llvm::BitVector> landmarks(const ExtractionProblem& problem, Poll& poll);
std::vector<llvm::BitVector> landmarks(const ExtractionProblem& problem);

/// By node: some best choice uses none of those marked. For sealed problems without rewards and
/// without a byte limit, whose roots can be extracted; marks nothing beyond kMostForLandmarks, and
/// not all where `poll` ends it.
std::vector<bool> superfluous_nodes(const ExtractionProblem& problem, Poll& poll);
std::vector<bool> superfluous_nodes(const ExtractionProblem& problem);

} // namespace tg
