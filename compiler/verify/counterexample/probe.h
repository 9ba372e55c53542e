// Float64 checks: inputs at which functions that look
// alike part ways, and what counts as a difference.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/ir/graph.h"

#include <vector>

namespace tg {

/// A way to fill leaves. From (seed, name, element) alone, so that two graphs see the same.
enum class Probe : uint8_t {
  Plain,    // uniform in (-1, 1), away from zero
  Positive, // uniform in (0, 1): roots and quotients are tame
  Integers, // -2 … 2: zeros and ties
  Mixed,    // zeros, ties, tiny and large (up to 30) numbers of both signs
};

llvm::StringRef probe_name(Probe probe); // "small integers"
LeafSource probe_leaves(Probe probe, uint64_t seed);

/// The smallest axis that the integers of this leaf index,
/// through moves; nothing if they index none.
std::optional<int64_t> index_limit(const Graph& graph, NodeId leaf);

/// The first element at which a and b differ by more than `tolerance` of the largest finite
/// magnitude, of `least` at least; NaN equals NaN, an infinity itself. nullopt if they agree.
std::optional<int64_t> first_difference(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b,
                                        double tolerance, double least = 1e-3);

// Where a function may change its mind: values of inputs at and around the numbers that a graph is
// written with. A clip at 1000, a comparison with 25 or a sum that crosses 19 shows at no ordinary
// input; it shows here.

/// The numbers in constants and attributes of what these nodes are computed from, and those that
/// operators stand for (6 of relu6, 2^31 of a cast to i32); ascending, each once, without 0. At
/// most 64, those nearest to 1 in magnitude.
std::vector<double> literals_of(const Graph& graph, llvm::ArrayRef<NodeId> roots);

/// Values for inputs: each literal of both signs with its neighbours (a little less and more, one
/// less and more, half and twice as much), roots, squares and inverses of literals, then, for who
/// has time for more, the same of sums, differences, products and quotients of two, in an order
/// without meaning. Finite, each once; empty if there are no literals.
std::vector<double> threshold_values(llvm::ArrayRef<double> literals);

} // namespace tg
