// The search that `tg opt` runs: a whole network made faster with e-graphs of bounded size.
//
//   sweep      the network is cut into segments (segments.h); equal ones are searched once, in
//              parallel, each in an e-graph of its own; what was found goes into all of them and
//              the whole is priced. The next sweep cuts elsewhere, so that it sees across. When
//              nothing is gained any more, sweeps are thorough: each segment is saturated as far
//              as its e-graph may grow, and extracted from by ILP; before they end, once in
//              segments half as long again, for what lies across all other cuts.
//   whole      the best network so far in one e-graph, for what no segment shows.
//   focus      the source again in one e-graph, with the rules that paid alone.
//   stage      all of that in e-graphs of 2,000 nodes; where the limit is higher and time is left,
//              again with five times as many, from the best so far: large e-graphs take long and
//              alone find less (nasrnn in 10 s: 240 us by 50,000 nodes from the start).
//   bounds     in the end the best network is saturated with one more iteration of rules with
//              several patterns at a time, as far as nodes and time go: what an extraction
//              certifies of these e-graphs is the bound that the report has. What is cheaper in
//              them is taken.
//   an e-graph is grown by saturation first, which is all there is to find where it ends; else by
//              tree search (mcts.h); what it holds is extracted, and the best graph starts the next
//              e-graph (restart), until nothing is gained: so the nodes that no good graph uses are
//              gone, and the node limit is spent on what is near the best.
//
// Plain saturation of the source, extracted the same way, comes first (where it ends by itself,
// again with one more iteration of rules with several patterns, and so on) and is compared with the
// search in the end: so the result is never worse than that of `--search saturate`, time limits of
// extraction aside, and where that e-graph is complete and its best is proved, nothing is searched.
// It is no start for the search: cut off by the node limit it leads into dead ends (nasrnn 206 us
// from there, 100 us from the source; a100, 2,000 nodes). Whatever stops the search, the best
// network so far is the result. Stopped by budgets and node limits the result depends on nothing
// but input, options and seed, not on the number of threads; an extraction that reaches its time
// limit is noted.
#pragma once

#include "compiler/extract/extract.h"
#include "compiler/search/limits.h"
#include "compiler/search/mcts/mcts.h"
#include "compiler/search/portfolio/segments.h"

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <vector>

namespace tg {

// What extractions have certified of the e-graphs of a network, and which of it says something of a
// result: that it is the best of what an e-graph holds, or how far from it at most.

/// What the extraction of one e-graph of the whole network says.
struct GraphBound {
  /// No graph in it of at most `most_bytes` of weights costs less; the cheapest known one.
  double lower_us = 0, best_us = 0;
  size_t nodes = 0;       // of the e-graph
  size_t filtered = 0;    // beside these: would close cycles, and are used by no graph
  bool of_source = false; // grown from the source; else from a result
  /// It ended by itself, with rules of several patterns in so many iterations.
  bool saturated = false;
  int multi_iterations = 0;
  double most_bytes = kInfiniteCost;
  bool optimal() const { return lower_us >= best_us * (1 - 1e-9); }
};

/// Of e-graphs that hold a result of that cost, or a graph as cheap: the largest in which nothing
/// is cheaper, by proof, preferably one that ended by itself; then the largest of which a bound is
/// known, if that is a larger one.
std::vector<GraphBound> bounds_on(double cost_us, llvm::ArrayRef<GraphBound> known);

/// E-graphs have so many nodes before larger ones follow, where these are allowed.
inline constexpr size_t kFirstStageNodes = 2'000;

struct PortfolioOptions {
  /// Networks to keep beside the best: prices err, and whole runs may prefer another.
  size_t finalists = 0;
  MctsOptions mcts;         // of each e-graph; node, time and memory limits hold for the whole
  SaturateOptions saturate; // of the first e-graph: TENSAT's schedule
  ExtractOptions extract;   // of each e-graph; the solver's time is cut into slices
  SegmentOptions segments;
  int threads = 1;
  int sweeps = 9, rounds = 3; // at most: passes over the network; e-graphs one after the other
  double slice_s = 1;         // of the solver, for one e-graph
  bool explain = false;       // with PortfolioReport::chain
  StopToken explaining = {};  // ends explanations, as mcts.stop ends the rest
  const PriorStore* priors = nullptr;
  /// Takes the seat in every tree search, as `fresh()` says; null: statistics, or, without
  /// `use_priors`, random.
  const Policy* policy = nullptr;
  NotifyProgress progress;
  // What can be turned off; more in mcts.
  bool use_priors = true, use_segments = true, use_repeats = true, use_restarts = true;
  bool use_saturation = true, use_tree = true, use_thorough = true, use_focus = true;
};

/// A network that was the best for a while, or what the source's own e-graph or the focus came to:
/// cheaper than the source.
struct PortfolioFinalist {
  Graph graph;
  double cost_us = 0;
  std::vector<RuleCount> rules_applied = {};
  std::optional<Derivation> chain = {}; // where asked for
};

struct PortfolioReport {
  Graph graph;
  double source_us = 0, cost_us = 0;
  std::vector<GraphBound> bounds = {}; // of the result (bounds_on)
  StopReason stop = StopReason::Saturated;
  bool changed = false;
  size_t decisions = 0, simulations = 0, egraphs = 0, segments = 0, distinct_segments = 0;
  size_t most_nodes = 0, most_classes = 0, memory_bytes = 0;
  double seconds = 0, extract_s = 0;
  size_t slices_used_up = 0; // extractions that the clock ended
  std::vector<RuleStats> rules = {};
  std::vector<RuleCount> rules_applied = {}; // all steps together; most often first
  PriorTable learned = {};
  /// Where asked for: how the graph follows from the source; or why that is not known, a fault.
  std::optional<Derivation> chain = {};
  std::string unexplained = {};
  /// Others than `graph`, at most PortfolioOptions::finalists, the cheapest first.
  std::vector<PortfolioFinalist> finalists = {};
};

/// Never costs more than the source.
PortfolioReport search_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                                 const PortfolioOptions& options);

} // namespace tg
