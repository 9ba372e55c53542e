// What extractions have certified of the e-graphs of a network, and which of it says something of a
// result: that it is the best of what an e-graph holds, or how far from it at most.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <vector>

namespace tg {

/// What the extraction of one e-graph of the whole network says.
struct GraphBound {
  double lower_us = 0, best_us = 0; // no graph in it costs less; the cheapest known one
  size_t nodes = 0;                 // of the e-graph
  size_t filtered = 0;              // beside these: would close cycles, and are used by no graph
  bool of_source = false;           // grown from the source; else from a result
  /// It ended by itself, with rules of several patterns in so many iterations.
  bool saturated = false;
  int multi_iterations = 0;
  bool optimal() const { return lower_us >= best_us * (1 - 1e-9); }
};

/// Of e-graphs that hold a result of that cost, or a graph as cheap: the largest in which nothing
/// is cheaper, by proof, preferably one that ended by itself; then the largest of which a bound is
/// known, if that is a larger one.
std::vector<GraphBound> bounds_on(double cost_us, llvm::ArrayRef<GraphBound> known);

} // namespace tg
