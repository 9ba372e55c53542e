// Reductions: a smaller problem with the same optimum. The time of an ILP depends on its size, and
// most of an extraction problem needs no decision:
//   - Nodes that cannot be used, or whose children cannot be extracted, are removed.
//   - Classes that cost nothing (inputs, weights and values computed from them at load) take
//     greedy's node and are removed from the children of others.
//   - A node whose children include all of another's, at no lower cost, is dominated and removed.
//   - Classes that the roots do not reach are removed.
//   - A class that every solution uses becomes a root and is removed from all children.
//   - A class with one node, needed by one node, is contracted into it.
//   - Nodes that some best choice does not need (below) are removed, and all steps are repeated.
// The remaining problem falls into independent parts that can be solved separately. Stored bytes
// are respected if the problem limits them.
#pragma once

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/poll.h"
#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/STLExtras.h>

#include <optional>

namespace tg {

struct ReducedProblem {
  /// Sealed. Each root is listed once; free roots are omitted. Every solution uses its roots, and
  /// they are children only where a cycle could close.
  ExtractionProblem problem;
  /// By node of `problem`: the original node.
  std::vector<NodeIx> origin;
  /// By class of the original: its class in `problem`, or invalid.
  std::vector<ClassIx> class_in_reduced;
  /// By class of the original: nodes chosen by the reductions.
  Choice fixed;
  /// Extends a choice for `problem` to one for the original; complete and acyclic if the former is.
  Choice expand(const ExtractionProblem& original, const Choice& reduced) const;
};

/// Reduces a problem. `greedy` is its own greedy result, which has the extractable classes. All
/// roots must be extractable. `stop` is polled; nullopt if it ended the work.
std::optional<ReducedProblem> reduce(const ExtractionProblem& problem, const GreedyResult& greedy,
                                     llvm::function_ref<bool()> stop = {});

// Nodes that some best choice does not need. The landmarks of a class are the classes in all its
// derivations (as in planning without deletes: Keyder, Richter and Helmert 2010). They give more
// information than its children:
//   - A node that has its own class as a landmark is in no acyclic choice.
//   - The landmarks of a node and those of the roots, each at its least cost, bound the cost of
//     every choice with this node. If the bound exceeds the cost of a known choice, the node is in
//     no best choice.
//   - If a node is chosen, all its landmarks are used as well, so another node of the class pays
//     only for its remaining children. If these, counted as trees, cost less than the first node
//     together with the classes that only it uses, the first node is in no best choice.

/// Limit on classes: landmark sets take the square of it in bits, here 50 MB.
inline constexpr size_t kMostForLandmarks = 20'000;

/// Returns, by class, the classes that are in each of its derivations, including itself: the
/// greatest sets with needs(c) = {c} + intersection over nodes n of c of the union over children d
/// of n of needs(d). Classes that cannot be derived need everything. If `poll` ends the work, the
/// sets are too large.
std::vector<llvm::BitVector> landmarks(const ExtractionProblem& problem, Poll& poll);
std::vector<llvm::BitVector> landmarks(const ExtractionProblem& problem);

/// Returns marks by node: some best choice uses none of the marked nodes. For sealed problems
/// without rewards and byte limit whose roots can be extracted. Marks nothing beyond
/// kMostForLandmarks classes, and not everything if `poll` ends the work.
std::vector<bool> superfluous_nodes(const ExtractionProblem& problem, Poll& poll);
std::vector<bool> superfluous_nodes(const ExtractionProblem& problem);

} // namespace tg
