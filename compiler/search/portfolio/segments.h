// Cuts a graph into segments that can be searched separately. A segment is an interval of the
// operators in topological order, hence convex. Its inputs are the values from earlier operators,
// its outputs are the values that others use, and everything known at load is included. A cut-out
// numbers its inputs and weights in order of appearance, so equal layers give equal graphs: a
// network of twelve equal layers is searched in one of them, and the finding is spliced into all.
//
// Cuts are chosen by dynamic programming: segments of bounded size, with as few values crossing the
// cuts as possible.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/ir/graph.h"

namespace tg {

/// Operators first .. last of the order, inclusive.
struct Segment {
  uint32_t first = 0, last = 0;
};

struct SegmentOptions {
  uint32_t least = 12, most = 48; // operators per segment
  /// Maximum size of the first segment. Another value shifts all cuts, for a second pass.
  uint32_t first_most = 48;
};

/// Returns the operators that are computed at each run, in the graph's order: neither leaves nor
/// known at load.
std::vector<NodeId> run_operators(const Graph& graph);

std::vector<Segment> cut_segments(const Graph& graph, const SegmentOptions& options);

struct CutOut {
  Graph graph;                // over the symbols of the whole
  std::vector<NodeId> inputs; // nodes of the whole, by input of `graph`
  std::vector<NodeId> outputs;
  std::vector<AttrsId> weights; // attributes of the weights, by the number in their path
  /// Equal for equal graphs.
  std::vector<uint32_t> key;
};
CutOut cut_out(const Graph& graph, llvm::ArrayRef<NodeId> operators, Segment segment);

/// The graph that replaces a segment, or null if the segment remains. It must have the inputs, the
/// outputs and the numbered weights of the cut-out, and may have its own symbols.
struct Replacement {
  const CutOut* place = nullptr;
  const Graph* graph = nullptr;
};
Graph splice(const Graph& whole, llvm::ArrayRef<NodeId> operators, llvm::ArrayRef<Segment> segments,
             llvm::ArrayRef<Replacement> replacements);

/// Copies a graph to other symbols, as a thread needs it to work independently.
Graph transfer(const Graph& graph, std::shared_ptr<Symbols> symbols);

// Lifts chains of rewrites from segments to the whole network: each step of a segment's chain
// becomes a step of the whole, at each place where the finding was spliced.

/// The chain found for one segment; null if the segment remains.
struct SegmentChain {
  const CutOut* place = nullptr;
  const Derivation* chain = nullptr; // over the cut-out; may have its own symbols
};

/// Extends `whole`, which must end at `graph`, to the graph that splice() builds from the same
/// findings. `found` is in the order of the segments.
void append_segments(Derivation& whole, const Graph& graph, llvm::ArrayRef<SegmentChain> found);

} // namespace tg
