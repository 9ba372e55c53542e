// Who reuses whom: a graph with a node for each operator, an arc from the root to each (a full
// search) and an arc to each from those that it can reuse, weighted by expected trials; and the
// cheapest tree in it. Bridges are operators that nobody asked for and that make others comparable;
// a tree may leave them out. Source: ETO (README).
//
// Invariant: operators[i] is node i + 1; the first `originals` were asked for, then there are
// bridges, and behind them those that are known.
#pragma once

#include "runtime/tune/pairs/arcs.h"
#include "runtime/tune/pairs/dry_runs.h"
#include "runtime/tune/pairs/estimate.h"

namespace tg::tune {

/// The largest operator that is at most both, if it has their sketches; with default parameters.
std::optional<Operator> bridge_of(const Operator& a, const Operator& b);
/// Bridges of all pairs that are not comparable, then of these and their bridges, `hops` times or
/// until there are no more.
std::vector<Operator> bridges(llvm::ArrayRef<Operator> operators, int hops);

/// Dry runs of a graph, for all pairs together: of a large one each pair has fewer, and of one that
/// would have less than one there are none.
inline constexpr size_t kMostDryRuns = 40'000;

struct SelectionOptions {
  int hops = 1;
  double full_trials = 1000; // of a full search
  EstimateOptions estimate;
  /// Estimates of a device that says what is legal, in the place of these; reuse that finds nothing
  /// legal is none. Null: there is no such device. A graph of more than two hundred operators takes
  /// formulas all the same (kMostDryRuns).
  DryRuns* dry_runs = nullptr;
  /// Where reuse has so many trials at most, nothing is estimated: each pair costs so much, and a
  /// little more the farther the operators are from one another. 0: it may have any number.
  double reuse_trials = 0;
  /// How often each operator occurs; empty: once. Only looked at where `occurrence_weight` is not
  /// 0: then reuse costs so many full searches more for an operator whose share of all work is
  /// the mean share, and in proportion for others, so that what takes most of the time is
  /// rather searched for in full.
  std::vector<int64_t> occurrences;
  double occurrence_weight = 0;
  /// Operators that have their programs already: reusing them costs no full search.
  std::vector<Operator> known;
};

struct OperatorGraph {
  std::vector<Operator> operators;
  size_t originals = 0;
  ArcGraph graph;
  size_t known = 0; // so many at the end are known

  std::vector<size_t> terminals() const;
  bool is_known(size_t op) const { return op >= operators.size() - known; }
  /// Ordered pairs of operators of which one can reuse the other.
  size_t reuse_pairs() const { return graph.arcs.size() - operators.size(); }
};
/// Operators are different from each other.
OperatorGraph operator_graph(llvm::ArrayRef<Operator> operators, const SelectionOptions& options);

/// Full: no reuse. Arborescence: of everything in the graph, for graphs without bridges. Nearest:
/// terminals one by one, by the cheapest path from what is there. Exact: for few originals.
enum class Selection : uint8_t { Full, Arborescence, Nearest, Greedy, Exact };

struct TuneStep {
  size_t op;                    // of OperatorGraph::operators
  std::optional<size_t> reused; // tuned by an earlier step; none: a full search
  double expected = 0;          // trials
};

struct ReusePlan {
  std::vector<TuneStep> steps; // by breadth from the root
  double expected = 0;         // trials of all
};
ReusePlan plan_reuse(const OperatorGraph& graph, Selection selection);

} // namespace tg::tune
