// Trees in directed graphs with weights: the cheapest arborescence (Chu and Liu 1965, Edmonds 1967)
// and Steiner trees, which may leave out nodes that are no terminals: greedily by flows (Watel and
// Weisser, "A practical greedy approximation for the directed Steiner tree problem", J. Comb.
// Optim. 32, 2016) and exactly by subsets (Dreyfus and Wagner 1971).
//
// Node 0 is the root. A tree is a list of indexes of arcs, ascending; ties go to the arc that comes
// first. Invariant: in a tree every node but the root has one arc at most that leads to it.
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
/// Whether the arcs are a tree from the root that reaches the terminals.
bool is_tree_to(const ArcGraph& graph, const Tree& tree, llvm::ArrayRef<size_t> terminals);

/// Reaches every node; nullopt if some cannot be reached. O(nodes * arcs).
std::optional<Tree> arborescence(const ArcGraph& graph);

/// Reaches the terminals, at no more than |terminals| times the least weight, mostly near it.
std::optional<Tree> greedy_steiner_tree(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals);

/// The least weight; time and memory grow with 3^terminals and 2^terminals.
inline constexpr size_t kMostExactTerminals = 12;
std::optional<Tree> exact_steiner_tree(const ArcGraph& graph, llvm::ArrayRef<size_t> terminals);

/// Nodes in the order of a walk by breadth from the root, without the root itself.
std::vector<size_t> breadth_first(const ArcGraph& graph, const Tree& tree);

} // namespace tg::tune
