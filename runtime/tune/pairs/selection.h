// Decides which operator reuses which. The graph has a node for each operator.
// An arc from the root is a full search. An arc between operators is a reuse.
// Arcs are weighted by expected trials, and the cheapest tree is the tuning plan.
// Bridges are additional operators that make others comparable; a tree may leave them out. Source:
// ETO (README).
//
// Invariant: operators[i] is node i + 1. The first `originals` operators are the requested ones,
// then come the bridges, then the known operators.
#pragma once

#include "runtime/tune/pairs/arcs.h"
#include "runtime/tune/pairs/dry_runs.h"
#include "runtime/tune/pairs/estimate.h"

namespace tg::tune {

/// Returns the largest operator whose loops are at most those of both, with default parameters,
/// if it has their sketches.
std::optional<Operator> bridge_of(const Operator& a, const Operator& b);
/// Returns bridges of all pairs that are not comparable, then bridges of these and the bridges
/// so far, `hops` times or until there are no more.
std::vector<Operator> bridges(llvm::ArrayRef<Operator> operators, int hops);

/// Number of dry runs for all pairs of a graph together. In a large graph each pair gets fewer;
/// if a pair would get less than one, there are none.
inline constexpr size_t kMostDryRuns = 40'000;

struct SelectionOptions {
  int hops = 1;
  double full_trials = 1000; // of a full search
  EstimateOptions estimate;
  /// Estimates for a device that knows which programs are legal; they replace `estimate`.
  /// Reuse that finds nothing legal is not possible. Null: no such device.
  /// A graph of more than two hundred operators uses formulas anyway (kMostDryRuns).
  DryRuns* dry_runs = nullptr;
  /// If reuse has at most this number of trials, nothing is estimated:
  /// each pair costs this number, plus a little for the distance between the operators. 0:
  /// no limit.
  double reuse_trials = 0;
  /// How often each operator occurs; empty: once. Only used if `occurrence_weight` is not 0.
  /// Then reuse costs this number of additional full searches for an operator
  /// with the mean share of the work, and in proportion for others,
  /// so that expensive operators are rather searched in full.
  std::vector<int64_t> occurrences;
  double occurrence_weight = 0;
  /// Operators that already have a program: reusing them needs no full search.
  std::vector<Operator> known;
};

struct OperatorGraph {
  std::vector<Operator> operators;
  size_t originals = 0;
  ArcGraph graph;
  size_t known = 0; // number of known operators, at the end

  std::vector<size_t> terminals() const;
  bool is_known(size_t op) const { return op >= operators.size() - known; }
  /// The number of ordered pairs of operators of which one can reuse the other.
  size_t reuse_pairs() const { return graph.arcs.size() - operators.size(); }
};
/// Requires distinct operators.
OperatorGraph operator_graph(llvm::ArrayRef<Operator> operators, const SelectionOptions& options);

/// Full: no reuse. Arborescence: spans the whole graph, for graphs without bridges. Exact: for
/// few originals.
enum class Selection : uint8_t { Full, Arborescence, Greedy, Exact };

struct TuneStep {
  size_t op;                    // index into OperatorGraph::operators
  std::optional<size_t> reused; // tuned by an earlier step; none: a full search
  double expected = 0;          // trials
};

struct ReusePlan {
  std::vector<TuneStep> steps; // in breadth-first order from the root
  double expected = 0;         // trials of all steps
};
ReusePlan plan_reuse(const OperatorGraph& graph, Selection selection);

} // namespace tg::tune
