// An upper bound on the chance that a random point misses a difference, computed from the graph.
//
// Every value is a rational function of variables that are drawn independently: the elements of the
// leaves, and the results of random functions at distinct queries (degree.h). A point can miss a
// difference in two ways: (1) the difference of two outputs, a nonzero rational function, vanishes
// at the point; (2) two different queries of a random function collide, so that it gives equal
// results for different arguments. The second is counted for each pair of queries of either model,
// shared queries once.
//
// In both cases a nonzero polynomial vanishes modulo all primes of the point. Modulo one prime it
// vanishes either (a) identically, if the prime divides all coefficients: at most b / 50 of the
// candidate primes divide a coefficient of b bits; or (b) at the drawn values, with chance degree /
// prime (Schwartz 1980, Zippel 1979), or twice that if negative powers occur. Primes and values are
// independent, so the chances for all primes are multiplied.
//
// If a divisor is zero modulo only some primes, another point is drawn. This makes the remaining
// points likelier by 1 / (1 - chance of that).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/verify/field/degree.h"

namespace tg {

struct PointBound {
  double queries = 0;       // of random functions, counting each member of a window or row
  double query_degree = 0;  // largest degree of a query
  double output_degree = 0; // largest degree of an output
  double bits = 0;          // largest size of a coefficient
  /// log2 of the chance that one point misses a difference; 0 if there is no useful bound.
  double log2_miss = 0;
};

/// Returns the chance that a nonzero polynomial of this size vanishes at random values modulo a
/// random prime, and modulo all primes of a point.
double one_prime(Size size);
double all_lanes(Size size);

PointBound bound_of(const Graph& graph, llvm::ArrayRef<NodeId> outputs);

/// Returns the smallest number of points, at least `least`, for which the product of chances is
/// below 2^log2_target; `least` if there is no useful bound.
size_t points_for(const PointBound& bound, double log2_target, size_t least);

} // namespace tg
