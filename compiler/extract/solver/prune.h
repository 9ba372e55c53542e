// Nodes that some best choice does without. What every derivation of a class needs (its landmarks,
// as in planning without deletes: Keyder, Richter and Helmert 2010) says more than its children do:
//   - a node that cannot be had without its own class is in no acyclic choice;
//   - the landmarks of a node and those of the roots, each at its least cost, bound what a choice
//     with this node costs: above a choice that is known, it is in no best one;
//   - where a node is chosen, all that it cannot be had without is there as well, so another node
//     of the class pays only for the rest of its children: if that, as trees at most, is less than
//     what the first costs together with what only it uses, the first is in no best choice.
#pragma once

#include "compiler/extract/poll.h"
#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>

namespace tg {

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
