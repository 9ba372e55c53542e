// The search of `tg opt`: optimises a whole network with e-graphs of bounded size. It consists of
// these steps:
//
//   sweep    cuts the network into segments (segments.h), searches distinct segments in parallel,
//            each in its own e-graph, splices the findings into all equal segments, and prices the
//            whole. The next sweep uses other cuts, so changes across a cut are found as well.
//            When nothing is gained, sweeps become thorough: each segment is saturated up to the
//            node limit and extracted by ILP. A last sweep has segments half as long again, for
//            changes across all other cuts.
//   whole    searches the best network in one e-graph, for changes that no segment contains.
//   focus    searches the source again in one e-graph, with the effective rules only.
//   stage    all of these steps with e-graphs of 2,000 nodes. If the limit is higher and time is
//            left, the next stage has five times as many and starts at the best graph. Large
//            e-graphs take long and alone find less (nasrnn in 10 s: 240 us with 50,000 nodes
//            from the start).
//   bounds   finally saturates the best network with one more iteration of multi-pattern rules at
//            a time, as far as nodes and time allow. The report's bound is certified by extraction
//            from these e-graphs. A cheaper graph in them becomes the result.
//   late     only if the time limit ended the search: applies the rules of one pattern a few times
//            to the result, whatever the clock says. Composite operators (attention, fused bias
//            and activation) are thus found on a machine that gives the search no time.
//
// An e-graph is first grown by saturation. If saturation completes, nothing else can be found.
// Otherwise tree search (mcts.h) grows it. The next sweep or step starts at the best graph, so it
// drops the nodes that no good graph uses and spends the node limit near that graph.
//
// Plain saturation of the source, with extraction, comes first. If it completes, it is repeated
// with one more iteration of multi-pattern rules, and so on. Its result is compared with the
// search's at the end, so the result is never worse than that of `--search saturate`, except for
// time limits of extraction. If the e-graph is complete and its best graph is proved optimal, no
// search follows. The search does not start from plain saturation, whose cut-off e-graph leads into
// dead ends (nasrnn 206 us from there, 100 us from the source; a100, 2,000 nodes).
//
// Example: two layers relu(x @ w + x) + x, with rules that move a sum into a product; an operator
// costs 1.
//
//   PortfolioReport report = search_portfolio(graph, rules, costs, PortfolioOptions());
//   report.source_us;                  // == 8
//   report.cost_us;                    // == 6: each layer has one sum less
//   report.bounds[0].optimal();        // == true, by extraction from a saturated e-graph
//
// If the search is stopped, the result is the best network so far. If it ends by budgets and node
// limits, the result depends only on input, options and seed, not on the number of threads. The
// report notes extractions that reached their time limit.
#pragma once

#include "compiler/extract/extract.h"
#include "compiler/search/limits.h"
#include "compiler/search/mcts/mcts.h"
#include "compiler/search/portfolio/segments.h"

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <vector>

namespace tg {

// Bounds certified by extraction from e-graphs of a network, and the selection of those that apply
// to a result: it is optimal within an e-graph, or its distance from the optimum is bounded.

/// The bound from one extraction of an e-graph of the whole network.
struct GraphBound {
  /// Lower bound on graphs in the e-graph with at most `most_bytes` of weights; cheapest known
  /// cost.
  double lower_us = 0, best_us = 0;
  size_t nodes = 0;       // in the e-graph
  size_t filtered = 0;    // besides these: nodes that would close cycles, unused
  bool of_source = false; // grown from the source, else from a result
  /// Saturation completed, with multi-pattern rules in this many iterations.
  bool saturated = false;
  int multi_iterations = 0;
  double most_bytes = kInfiniteCost;
  bool optimal() const { return lower_us >= best_us * (1 - 1e-9); }
};

/// Selects bounds of e-graphs that contain a result of this cost, or an equally cheap graph. First
/// the largest e-graph in which the result is proved optimal, preferably a saturated one; then the
/// largest with a bound, if that is larger.
std::vector<GraphBound> bounds_on(double cost_us, llvm::ArrayRef<GraphBound> known);

/// Node limit of the first stage; later stages are larger if options allow it.
inline constexpr size_t kFirstStageNodes = 2'000;

struct PortfolioOptions {
  /// Number of networks to keep besides the best. Since prices are inexact, whole runs may prefer
  /// another one.
  size_t finalists = 0;
  MctsOptions mcts;         // for each e-graph; node, time and memory limits: whole
  SaturateOptions saturate; // for the first e-graph: TENSAT's schedule
  ExtractOptions extract;   // for each e-graph; the solver's time is divided into slices
  SegmentOptions segments;
  int threads = 1;
  int sweeps = 9;            // at most: passes over the network
  double slice_s = 1;        // solver time per e-graph
  bool explain = false;      // fill PortfolioReport::chain
  StopToken explaining = {}; // ends explanations; mcts.stop ends the search
  const PriorStore* priors = nullptr;
  /// Used in every tree search through `fresh()`. Null: statistics, or a random policy without
  /// `use_priors`.
  const Policy* policy = nullptr;
  NotifyProgress progress;
  // Features that can be turned off; `mcts` has more.
  bool use_priors = true, use_segments = true, use_repeats = true, use_whole = true;
  bool use_saturation = true, use_tree = true, use_thorough = true, use_focus = true;
};

/// A network, cheaper than the source, that was the best for some time or resulted from plain
/// saturation or the focus step.
struct PortfolioFinalist {
  Graph graph;
  double cost_us = 0;
  std::vector<RuleCount> rules_applied = {};
  std::optional<Derivation> chain = {}; // with PortfolioOptions::explain
};

struct PortfolioReport {
  Graph graph;
  double source_us = 0, cost_us = 0;
  std::vector<GraphBound> bounds = {}; // bounds on the result (bounds_on)
  StopReason stop = StopReason::Saturated;
  bool changed = false;
  size_t decisions = 0, simulations = 0, egraphs = 0, segments = 0, distinct_segments = 0;
  size_t most_nodes = 0, most_classes = 0, memory_bytes = 0;
  double seconds = 0, extract_s = 0;
  size_t slices_used_up = 0; // extractions that reached the time limit
  std::vector<RuleStats> rules = {};
  std::vector<RuleCount> rules_applied = {}; // over all steps; most frequent first
  PriorTable learned = {};
  /// With PortfolioOptions::explain: the derivation of the graph from the source, or the reason why
  /// it is missing, which is a bug.
  std::optional<Derivation> chain = {};
  std::string unexplained = {};
  /// Up to PortfolioOptions::finalists graphs other than `graph`, cheapest first.
  std::vector<PortfolioFinalist> finalists = {};
};

/// The result never costs more than the source.
PortfolioReport search_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                                 const PortfolioOptions& options);

} // namespace tg
