// Float64 checks: inputs that distinguish similar functions, and the definition of a difference.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/ir/graph.h"

#include <vector>

namespace tg {

/// A way to fill leaves. Values depend only on (seed, name, element), so two graphs get the same.
enum class Probe : uint8_t {
  Plain,    // uniform in (-1, 1), away from zero
  Positive, // uniform in (0, 1): roots and quotients are moderate
  Integers, // -2 … 2: zeros and ties
  Mixed,    // zeros, ties, tiny and large (up to 30) numbers of both signs
};

llvm::StringRef probe_name(Probe probe); // "small integers"
LeafSource probe_leaves(Probe probe, uint64_t seed);

/// Returns the smallest axis that the integers of this leaf index, also through moves; nothing if
/// they are not indices.
std::optional<int64_t> index_limit(const Graph& graph, NodeId leaf);

/// Returns the first element at which a and b differ by more than `tolerance` times the largest
/// finite magnitude, which is taken as at least `least`. NaN equals NaN, and infinities equal
/// themselves. Returns nullopt if they agree.
std::optional<int64_t> first_difference(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b,
                                        double tolerance, double least = 1e-3);

// Points at which a function may switch: input values at and around the literals of a graph.
// Ordinary inputs miss a clip at 1000, a comparison with 25 or a sum that crosses 19; these values
// do not.

/// Returns the numbers in constants and attributes below these nodes, and those implied by
/// operators (6 for relu6, 2^31 for a cast to i32): ascending, distinct, without 0. At most 64,
/// those nearest to 1 in magnitude.
std::vector<double> literals_of(const Graph& graph, llvm::ArrayRef<NodeId> roots);

/// Returns values for inputs: each literal with both signs and its neighbours (a little less and
/// more, one less and more, half and twice as much), and roots, squares and inverses of literals.
/// These are followed, for longer searches, by the same for sums, differences, products and
/// quotients of two, in an arbitrary order. Finite and distinct; empty if there are no literals.
std::vector<double> threshold_values(llvm::ArrayRef<double> literals);

} // namespace tg
