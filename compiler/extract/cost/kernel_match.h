// Finds the multi-operator kernels of a backend (lang/core/kernel_pattern.h) in an e-graph: chains
// of e-nodes act(head + bias + residual), whether or not a rule has added the single operator for
// them. Each chain becomes an additional node of the extraction problem (fused.h) with the price of
// that operator. A graph made from a choice has the operator instead of the chain.
//
// Matching goes top-down, class by class: an activation over a sum over a sum over the head.
// infer() decides whether the resulting operator is valid.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/extract/poll.h"

#include "lang/core/kernel_pattern.h"

namespace tg {

/// A chain, and the operator of its kernel.
struct KernelMatch {
  llvm::SmallVector<ENodeId, 4> nodes; // the last first; the head at the end
  OpKind op{};
  AttrsId attrs;                          // the head's, with the activation
  llvm::SmallVector<ClassId, 4> operands; // the head's, with bias and residual
  /// Set if the bias is computed at load, has the channels along another axis, and is reshaped
  /// to this shape.
  Shape bias_shape = {};
};

/// Returns all chains whose operator is valid, in the order of `classes` and their nodes. Filtered
/// nodes are left out. At most the first `kMostMatches` of a class are returned. If `poll` stops
/// the search, the result has the chains found so far.
std::vector<KernelMatch> match_kernels(const EGraph& egraph, llvm::ArrayRef<ClassId> classes,
                                       llvm::ArrayRef<KernelPattern> patterns, Poll& poll);

/// Returns the position of the kernel's bias operand, the one that is reshaped.
int bias_operand(const KernelMatch& match);
/// Returns the type of operand `i` as passed to the kernel.
TypeId operand_type(const EGraph& egraph, const KernelMatch& match, size_t i);

} // namespace tg
