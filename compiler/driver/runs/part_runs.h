// Networks that take too much memory to be loaded whole, one beside the other: each is cut into
// parts, of which equal ones are loaded once, run once and count as often as they occur.
#pragma once

#include "compiler/driver/runs/prepare.h"

namespace tg {

/// A graph in parts, on random inputs and the weights of the first of equal parts.
struct PartedGraph {
  struct Part {
    Prepared prepared;
    size_t count = 0; // of equal parts in the graph
  };
  std::vector<Part> parts; // no two equal
  size_t of = 0;           // parts of the graph, equal ones included
};

/// Each part has run once. Parts share weights by contents (`options.shared`), not by paths, which
/// are their numbers here. Errors: those of prepare() and of a run.
Result<PartedGraph> load_parts(const Graph& graph, const PrepareOptions& options);

/// Runs the parts of two graphs interleaved; a sample is the sum over the parts of a graph, each as
/// often as it occurs. Otherwise as the function of the same name for executables.
Result<Comparison> time_in_turns(PartedGraph& first, PartedGraph& second,
                                 const TimingOptions& options);

} // namespace tg
