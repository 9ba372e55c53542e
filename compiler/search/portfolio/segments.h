// Parts of a graph that can be searched by themselves. A segment is an interval of the operators in
// topological order, hence convex: what it takes from before are its inputs, what others take from
// it its outputs, and what is known at load comes along whole. Cut out, its inputs and weights are
// numbered in the order of their appearance, so that equal layers give equal graphs: a network of
// twelve equal layers is searched in one of them, and the finding is put into all.
//
// Where to cut is chosen by dynamic programming: segments of bounded size, as few values as
// possible crossing the cuts.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/ir/graph.h"

namespace tg {

/// Operators first .. last of the order, both included.
struct Segment {
  uint32_t first = 0, last = 0;
};

struct SegmentOptions {
  uint32_t least = 12, most = 48; // operators
  /// The first segment has at most so many: a second pass with other cuts sees across the first's.
  uint32_t first_most = 48;
};

/// What each run computes, in the graph's order:
/// operators that are no leaves and not known at load.
std::vector<NodeId> run_operators(const Graph& graph);

std::vector<Segment> cut_segments(const Graph& graph, const SegmentOptions& options);

struct CutOut {
  Graph graph;                // over the symbols of the whole
  std::vector<NodeId> inputs; // of the whole; by input of `graph`
  std::vector<NodeId> outputs;
  std::vector<AttrsId> weights; // attributes of the weights, by the number in their path
  /// Equal for equal graphs.
  std::vector<uint32_t> key;
};
CutOut cut_out(const Graph& graph, llvm::ArrayRef<NodeId> operators, Segment segment);

/// The whole with each segment's operators replaced by its graph, which has the inputs, the outputs
/// and the numbered weights of the cut-out; null: the segment stays. Graphs may have symbols of
/// their own.
struct Replacement {
  const CutOut* place = nullptr;
  const Graph* graph = nullptr;
};
Graph splice(const Graph& whole, llvm::ArrayRef<NodeId> operators, llvm::ArrayRef<Segment> segments,
             llvm::ArrayRef<Replacement> replacements);

/// The same graph over other symbols: what a thread needs to work alone.
Graph transfer(const Graph& graph, std::shared_ptr<Symbols> symbols);

// Chains of rewrites found in segments, stated for the whole network: each step of a segment's
// chain becomes one of the whole, at each place that the finding was put into.

/// What was found for one segment; null: it stays as it is.
struct SegmentChain {
  const CutOut* place = nullptr;
  const Derivation* chain = nullptr; // over the cut-out, perhaps with symbols of its own
};

/// Goes on with `whole`, which ends at `graph`, up to the graph that splice() makes of the same
/// findings. Segments in their order.
void append_segments(Derivation& whole, const Graph& graph, llvm::ArrayRef<SegmentChain> found);

} // namespace tg
