// Trees in weighted directed graphs: the cheapest arborescence (Chu and Liu 1965, Edmonds 1967),
// and Steiner trees, which may omit nodes that are not terminals.
// Steiner trees are found greedily by flows (Watel and Weisser,
// "A practical greedy approximation for the directed Steiner tree problem", J. Comb. Optim.
// 32, 2016) or exactly by subsets (Dreyfus and Wagner 1971).
//
// Node 0 is the root. A tree is an ascending list of arc indices; ties go to the first arc.
// Invariant: in a tree every node but the root has at most one incoming arc.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace tg::tune {

struct Arc {
  size_t from, to;
  double weight; // not negative
};

struct ArcGraph {
  size_t nodes = 1;
  std::vector<Arc> arcs;
};

using Tree = std::vector<size_t>;

double weight_of(const ArcGraph& graph, const Tree& tree);

/// Returns the cheapest tree that reaches every node; nullopt if some node is unreachable.
/// O(nodes * arcs).
std::optional<Tree> arborescence(const ArcGraph& graph);

/// Returns a tree that reaches the terminals. Its weight is at most |terminals| times the least
/// weight, and usually close to the least.
std::optional<Tree> greedy_steiner_tree(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals);

/// Returns a tree of least weight. Time grows with 3^terminals, memory with 2^terminals.
inline constexpr size_t kMostExactTerminals = 12;
std::optional<Tree> exact_steiner_tree(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals);

/// Returns the nodes in breadth-first order from the root, without the root.
std::vector<size_t> breadth_first(const ArcGraph& graph, const Tree& tree);

} // namespace tg::tune
