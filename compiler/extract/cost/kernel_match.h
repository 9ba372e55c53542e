// Where an e-graph holds what a backend does in one kernel (lang/core/kernel_pattern.h): chains of
// e-nodes act(head + bias + residual), whether or not a rule has put the one operator that stands
// for them into the e-graph. Each becomes one more node of the extraction problem (fused.h), with
// the price of that operator; a graph made of a choice has the operator in the chain's place.
//
// Matched from the top down, class by class: an activation over a sum over a sum over the head.
// What an operator may be is judged by infer(), as everywhere.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/extract/poll.h"

#include "lang/core/kernel_pattern.h"

namespace tg {

/// A chain, and the operator that is its kernel.
struct KernelMatch {
  llvm::SmallVector<ENodeId, 4> nodes; // the last first; the head at the end
  OpKind op{};
  AttrsId attrs;                          // the head's, with the activation
  llvm::SmallVector<ClassId, 4> operands; // the head's, with bias and residual
  /// Known at load: the bias has the channels along an axis of its own and is reshaped to these.
  Shape bias_shape = {};
};

/// All chains whose operator exists; `classes` and what they hold in order. Filtered nodes are left
/// out. Of one class at most `kMostMatches` are taken, the first; where `poll` ends it, those so
/// far.
std::vector<KernelMatch> match_kernels(const EGraph& egraph, llvm::ArrayRef<ClassId> classes,
                                       llvm::ArrayRef<KernelPattern> patterns, Poll& poll);

/// Position of an operand of the kernel that takes the bias; it is the one that is reshaped.
int bias_operand(const KernelMatch& match);
/// Type of operand `i` as the kernel takes it.
TypeId operand_type(const EGraph& egraph, const KernelMatch& match, size_t i);

} // namespace tg
