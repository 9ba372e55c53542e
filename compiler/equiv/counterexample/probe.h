// Float64 checks: inputs at which functions that look alike part ways, and what counts as a
// difference.
#pragma once

#include "compiler/ir/evaluate.h"

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

/// The smallest axis that the integers of this leaf index, through moves; nothing if they index
/// none.
std::optional<int64_t> index_limit(const Graph& graph, NodeId leaf);

/// The first element at which a and b differ by more than `tolerance` of the largest finite
/// magnitude, of `least` at least; NaN equals NaN, an infinity itself. nullopt if they agree.
std::optional<int64_t> first_difference(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b,
                                        double tolerance, double least = 1e-3);

} // namespace tg
