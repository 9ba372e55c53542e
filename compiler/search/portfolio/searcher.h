// One search of one graph, in one e-graph after the other, with symbols of its own: what the
// portfolio hands to its threads.
#pragma once

#include "compiler/search/portfolio/portfolio.h"
#include "compiler/search/portfolio/segments.h"

#include <chrono>

namespace tg {

struct SearchTask {
  const Graph* graph = nullptr;
  /// Search: until nothing is gained. Plain: saturation alone, on the schedule of the options.
  /// Thorough: saturation alone, all rules in all iterations, extracted from wherever it ends.
  /// Deeper: saturation alone, rules with several patterns in one iteration more each time.
  enum class Kind : uint8_t { Search, Plain, Thorough, Deeper } kind = Kind::Search;
  std::string where;
  bool whole = true; // the network; else a segment of it
};

/// What a search in one or a few e-graphs came to.
struct Finding {
  std::optional<Graph> graph; // better than what was given
  double before_us = 0, cost_us = 0;
  std::vector<GraphBound> bounds; // of the e-graphs that were extracted from
  std::vector<RuleCount> applied;
  std::vector<RuleStats> rules;    // by RuleId
  std::vector<RuleRecord> records; // by RuleId
  size_t decisions = 0, simulations = 0, egraphs = 0, most_nodes = 0, most_classes = 0,
         memory_bytes = 0;
  double extract_s = 0;
  size_t slices_used_up = 0;
  bool complete = false;      // nothing else can be found by these rules
  bool out_of_memory = false; // the limit ended it
  SearchTrace trace;
  std::optional<Derivation> chain; // where asked for: from what was given to `graph`
  std::string unexplained;
  /// Of Plain, where finalists are kept: what other extractors choose from the last e-graph.
  std::vector<PortfolioFinalist> others;
};

/// A task as a thread can take it: over symbols that nobody else has.
struct OwnTask {
  Graph graph;
  SearchTask::Kind kind{};
};
OwnTask own_task(const SearchTask& task);

/// What a search has found so far: in the e-graph that it grows, and in those before.
struct SearchSoFar {
  size_t nodes = 0, simulations = 0;
  double cost_us = kInfiniteCost;
  std::vector<RuleCount> applied = {};
};
using FollowSearch = std::function<void(const SearchSoFar&)>;

/// Searches until nothing is gained, at most `options.rounds` e-graphs. `memory_limit_mb`: of this
/// search alone; `threads`: that it may use, which then ask `costs` at once; `follow`: is called
/// now and then, by the calling thread; may be empty.
Finding run_search(OwnTask task, llvm::ArrayRef<Rule> rules, SharedCost& costs,
                   const PortfolioOptions& options, const PriorStore* priors,
                   std::chrono::steady_clock::time_point deadline, size_t memory_limit_mb,
                   int threads, FollowSearch follow);

/// A pass over a network: where it is cut this time, which segments are equal, and what is to be
/// searched. Passes cut at other places, so that a later one sees across the cuts of an earlier
/// one.
struct Sweep {
  std::vector<NodeId> operators; // of a run, in their order
  std::vector<Segment> segments;
  std::vector<CutOut> places;    // by segment
  std::vector<uint32_t> task_of; // by segment: equal ones have one
  std::vector<SearchTask> tasks; // that refer to `places`
};

/// The cuts of the pass of that number; four in turn differ. Without `repeats` equal segments are
/// searched one by one.
Sweep plan_sweep(const Graph& graph, SegmentOptions options, int number, bool repeats);

} // namespace tg
