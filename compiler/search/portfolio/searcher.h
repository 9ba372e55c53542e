// Searches one graph in a sequence of e-graphs with its own symbols: the unit of work that the
// portfolio assigns to its threads.
#pragma once

#include "compiler/search/portfolio/portfolio.h"
#include "compiler/search/portfolio/segments.h"

#include <chrono>

namespace tg {

struct SearchTask {
  const Graph* graph = nullptr;
  /// Search: saturation, then tree search. Plain: only saturation, on the schedule of the options.
  /// Thorough: only saturation, all rules in all iterations, extracted even if cut off.
  /// Deeper: only saturation, with one more iteration of multi-pattern rules each time.
  /// Late: rules with one pattern, a few times, extracted without a solver; the clock does not end
  /// it.
  enum class Kind : uint8_t { Search, Plain, Thorough, Deeper, Late } kind = Kind::Search;
  std::string where;
  bool whole = true; // the network, else a segment of it
};

/// The result of a search in one or more e-graphs.
struct Finding {
  std::optional<Graph> graph; // better than the given graph
  double before_us = 0, cost_us = 0;
  std::vector<GraphBound> bounds; // of the extracted e-graphs
  std::vector<RuleCount> applied;
  std::vector<RuleStats> rules;    // by RuleId
  std::vector<RuleRecord> records; // by RuleId
  size_t decisions = 0, simulations = 0, egraphs = 0, most_nodes = 0, most_classes = 0,
         memory_bytes = 0;
  double extract_s = 0;
  size_t slices_used_up = 0;
  bool complete = false;      // nothing else can be found with these rules
  bool out_of_memory = false; // the memory limit ended it
  SearchTrace trace;
  std::optional<Derivation> chain; // with `explain`: from the given graph to `graph`
  std::string unexplained;
  /// For Plain with finalists: the choices of other extractors from the last e-graph.
  std::vector<PortfolioFinalist> others;
};

/// A task for one thread, over symbols that no other thread uses.
struct OwnTask {
  Graph graph;
  SearchTask::Kind kind{};
};
OwnTask own_task(const SearchTask& task);

/// Progress of a search: in the e-graph being grown and in earlier ones.
struct SearchStatus {
  size_t nodes = 0, simulations = 0;
  double cost_us = kInfiniteCost;
  std::vector<RuleCount> applied = {};
};
using FollowSearch = std::function<void(const SearchStatus&)>;

/// Runs the task. `memory_limit_mb` is the limit of this search alone. `threads` is the number of
/// threads that it may use, which query `costs` concurrently. `follow` is called periodically by
/// the calling thread; it may be empty.
Finding run_search(OwnTask task, llvm::ArrayRef<Rule> rules, SharedCost& costs,
                   const PortfolioOptions& options, const PriorStore* priors,
                   std::chrono::steady_clock::time_point deadline, size_t memory_limit_mb,
                   int threads, FollowSearch follow);

/// A pass over a network: its segments, which of them are equal, and the tasks to search.
/// Successive passes use different cuts, so that a later one finds changes across the cuts of an
/// earlier one.
struct Sweep {
  std::vector<NodeId> operators; // computed at each run, in order
  std::vector<Segment> segments;
  std::vector<CutOut> places;    // by segment
  std::vector<uint32_t> task_of; // by segment; equal segments have one task
  std::vector<SearchTask> tasks; // refer to `places`
};

/// Plans the pass with this number; four successive passes have different cuts. Without `repeats`
/// equal segments are searched separately.
Sweep plan_sweep(const Graph& graph, SegmentOptions options, int number, bool repeats);

} // namespace tg
