// How likely one random point is to miss a difference, computed from the graph.
//
// Every value is a rational function of variables that are drawn independently: the elements of the
// leaves, and the results of random functions at distinct queries (degree.h). A point can miss a
// difference in two ways: (1) the difference of two outputs, a non-zero rational function, vanishes
// at the point; (2) two different queries of a random function meet, which then gives equal results
// to different questions, for each pair of queries of either model, shared ones once.
//
// Either takes a polynomial that is not zero to vanish modulo all primes of the point. Modulo one,
// it vanishes (a) as a whole, if the prime divides all coefficients: of the primes that are drawn
// from, a coefficient of b bits is a multiple of b / 50 at most; else (b) at the values that are
// drawn, with chance degree / prime (Schwartz 1980, Zippel 1979), or twice that if powers below 0
// occur. Primes and values are independent, so that the chances for all primes are multiplied.
//
// Points at which a divisor is zero modulo some primes only are drawn anew. That makes what is left
// likelier by 1 / (1 - their chance).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/verify/field/degree.h"

namespace tg {

struct PointBound {
  double queries = 0;       // of random functions, each member of a window or row counted
  double query_degree = 0;  // largest of a query
  double output_degree = 0; // largest of the outputs
  double bits = 0;          // largest of a coefficient
  /// log2 of the chance that one point misses a difference; 0 if the bound says nothing.
  double log2_miss = 0;
};

/// The chance that a polynomial of this size, which is not zero, vanishes at random values modulo a
/// random prime; and modulo all primes of a point.
double one_prime(Size size);
double all_lanes(Size size);

PointBound bound_of(const Graph& graph, llvm::ArrayRef<NodeId> outputs);

/// The fewest points, at least `least`, whose chances multiplied are below 2^log2_target; `least`
/// if the bound says nothing.
size_t points_for(const PointBound& bound, double log2_target, size_t least);

} // namespace tg
