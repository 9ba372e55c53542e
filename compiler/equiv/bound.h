// How likely one random point is to miss a difference, computed from the graph.
//
// Every value is a rational function of variables that are drawn independently: the elements of the
// leaves, and the results of random functions at distinct queries. `degrees` bounds the degrees of
// its numerator and denominator. A point can miss a difference in two ways: (1) the difference of
// two outputs, a non-zero rational function, vanishes at the point: at most its degree over p
// (Schwartz 1980, Zippel 1979); (2) two different queries of a random function meet, which then
// gives equal results to different questions: for each pair at most the degree of their difference
// over p. Pairs are counted over all queries of both models, shared ones once. Indices (gather,
// argmax) are counted apart: two different ones agree with chance 1 / size of what they index.
//
// The root of a norm's variance occurs only as a divisor: its inverse is as random as itself, and
// counts as a variable of its own. Sums over K terms with denominators multiply these K times.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

struct PointBound {
  double queries = 0;       // of random functions, each member of a window or row counted
  double query_degree = 0;  // largest of a query
  double output_degree = 0; // largest of the outputs
  /// log2 of the chance that one point misses a difference; 0 if the bound says nothing.
  double log2_miss = 0;
};

PointBound bound_of(const Graph& graph, llvm::ArrayRef<NodeId> outputs);

/// The fewest points, at least `least`, whose chances multiplied are below 2^log2_target; `least`
/// if the bound says nothing.
size_t points_for(const PointBound& bound, double log2_target, size_t least);

} // namespace tg
