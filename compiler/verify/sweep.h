// Merges equal tensors of two models, from the operands to the outputs. After a merge the operators
// above it that are equal on both sides are one node, so only the places where the structure of the
// models differs are compared by arithmetic, each from the nearest tensors that both sides share.
// These are replaced by unknowns: operators that are equal for all values of their operands are
// equal for the given ones. (Kuehlmann and Krohm, "Equivalence checking using cuts and heaps",
// DAC 1997.)
#pragma once

#include "compiler/verify/join.h"

#include <functional>

namespace tg {

/// Returns true if the only pair of outputs of a small pair of models is equal for all inputs.
using ProveEqual = std::function<bool(const Joined& part)>;

/// Returns an estimate of the number of operations of a check at one point.
double check_operations(const Graph& graph, llvm::ArrayRef<NodeId> wanted);

/// Returns true if each output of `a` became one node with that of `b`, so that the models are
/// equal. False decides nothing. Ends before the proofs take more than `operations`.
bool merge_outputs(const Joined& joined, double operations, const ProveEqual& prove);

} // namespace tg
