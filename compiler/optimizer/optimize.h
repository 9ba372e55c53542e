// The optimiser as one call: rules over a source graph, prices from a cost model, the cheapest
// graph out, with a report of what happened. The result never costs more than the source under the
// model in use; where costs are measured, both graphs are run and the source is returned if the new
// one is not faster beyond the noise.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/extract/extract.h"
#include "compiler/extract/groups/group_refine.h"
#include "compiler/optimizer/time_plan.h"
#include "compiler/search/baselines/local.h"
#include "compiler/search/baselines/rollout.h"
#include "compiler/search/portfolio/portfolio.h"
#include "lang/core/support/repeated_times.h"

#include <functional>
#include <optional>

namespace tg {

/// Mcts is the search that we ship (search/portfolio/portfolio.h).
enum class Search : uint8_t {
#define TG_STRATEGY(id, name, instance) id,
#include "compiler/optimizer/strategy/strategies.def"
#undef TG_STRATEGY
};
llvm::StringRef search_name(Search search); // "mcts"

class SearchStrategy;

/// A graph in the form in which it is used, where this is not the graph itself.
struct UsedForm {
  Graph graph; // with the operators of that form
  size_t operators = 0;
  std::string digest; // equal for equal forms, names apart
};

struct OptimizeOptions {
  Search search = Search::Saturate;
  /// Runs in place of `search` where it is given, and its name in reports.
  const SearchStrategy* strategy = nullptr;
  std::string strategy_name;
  /// Iterations, limits, cycle filter and numerics of exploration.
  SaturateOptions explore;
  size_t budget = 64, depth = 16; // of Search::Random: rollouts, and steps of each
  /// Of Search::Mcts, beside what `explore` and `extract` say: limits, seed, numerics, extraction.
  PortfolioOptions portfolio;
  LocalOptions local; // of Anneal and Taso, likewise
  SearchTrace* trace = nullptr;
  /// Graphs that are measured whole, the best by price among them, where a FinalistRunner is given.
  size_t finalists = 8;
  /// Whole runs have to show a gain beyond the noise; else it is enough that they show no loss:
  /// what was guessed and not timed is not given up for a machine's noise.
  bool must_gain = true;
  /// With the chain of rewrites from the source to the result.
  bool explain = false;
  /// The form in which a graph is used; null: as it is. nullopt: it cannot be used.
  std::function<std::optional<UsedForm>(const Graph&)> used_as = {};
  /// Extractor, its limits, bound on weights.
  ExtractOptions extract;
  /// Of Saturate and Random: extraction weighs what the device does in one kernel as one
  /// (ExtractOptions::kernels), where the rules in use lead there; of Mcts: what it found takes the
  /// kernels that it has not found, as do the other finalists of all three. Off where a published
  /// search is to be as published.
  bool kernels = false;
  /// What was found goes on by prices of groups, where the cost model has them (CostModel::groups).
  bool groups = false;
  RefineOptions refine; // of that: how many graphs are priced, for how long
  /// Searches begin anew with better prices (settled_search.h) up to so many seconds from the
  /// start.
  double settle_time_s = 5;
  /// Though an earlier result is known that took long to judge: else that is the answer at once.
  /// Where the user says how long, how much or whence to search.
  bool search_on = false;
  /// Ends all phases, whose limits (explore, extract, refine) hold as well. The best so far is then
  /// the result.
  TimePlan time = {};
};

/// The limits of a search and of its extractions; a negative time and no nodes stand for what suits
/// it (options.search): tree searches have e-graphs of 2,000 nodes, as published, but what Mcts
/// saturates first, like Saturate's, has 50,000; Mcts ends after 10 s in all, the others have 60 s
/// to explore and 60 s to extract. Where prices are `guessed` and found out between searches, each
/// of Mcts is short: it finds within a second what it finds at all, and proves the rest of the
/// time. The deadline of the whole is `options.time`.
void set_limits(OptimizeOptions& options, double time_limit_s, int64_t node_limit,
                bool guessed = false);

/// What a rule did while exploring, whether or not its work was chosen.
struct RuleActivity {
  std::string rule, declared;
  size_t matches = 0, applied = 0;
};

/// Costs by what the device launches at once.
struct GroupReport {
  GroupPrice before;               // the source
  std::optional<GroupPrice> found; // what operators' prices chose
  GroupPrice after;                // the result
  size_t priced = 0, moves = 0;    // graphs asked for while refining; what was changed
  bool ended = false;              // by the clock, or the user
  double seconds = 0;
};

struct OptimizeReport {
  std::string model, search, extract, cost_model;
  size_t rules = 0; // in use
  /// Operators of a run; those computed once at load, from weights alone, are counted apart.
  size_t nodes_before = 0, nodes_after = 0, load_nodes_after = 0;
  double cost_before_us = 0, cost_after_us = 0;
  std::optional<double> lower_bound_us; // of the extraction, where it gives one
  /// The bound is of graphs that hold at most so many bytes of weights and constants.
  double bound_bytes = kInfiniteCost;
  /// The e-graph of the bound was grown until no rule had anything to add.
  bool holds_all = false;
  /// Of Mcts, where that is known: which e-graphs bound the result (GraphBound); the
  /// first is what lower_bound_us is of.
  std::vector<GraphBound> bounds;
  size_t egraph_nodes = 0, egraph_classes = 0;
  double explore_s = 0, extract_s = 0, total_s = 0;
  /// Where prices were found out on the way (settled_search.h): how many searches there were, what
  /// those before the last took, and the timing of operators.
  size_t searches = 1;
  double searched_before_s = 0, settle_s = 0;
  /// Graphs whose operators were timed within whole runs, and how long that took.
  size_t graphs_placed = 0;
  double placed_s = 0;
  double peak_memory_mb = 0;
  uint64_t seed = 0;
  std::string stopped_by;
  /// Rules that made nodes of the result, most often used first, then by name.
  std::vector<RuleCount> rules_applied;
  /// Where a chain was asked for: its steps by rule, those included of which nothing is left.
  std::vector<RuleCount> chain_steps;
  /// Rules that matched, in their order.
  std::vector<RuleActivity> activity;
  /// Of tree searches: simulations, decisions, e-graphs; of Mcts also the parts of the network that
  /// were searched, and how many of them were distinct.
  size_t simulations = 0, decisions = 0, egraphs = 1, segments = 0, distinct_segments = 0;
  size_t cut_extractions = 0;  // ended by the clock
  double search_memory_mb = 0; // of e-graphs and the search's tables, where it is known
  PriorTable learned;          // what the search saw of its rules
  /// Where asked for and known.
  std::optional<GroupReport> groups;
  /// What a person should know: a solver that failed, a source returned because it was faster, ...
  std::vector<std::string> notes;

  /// Whether the extractor proved that no graph of the e-graph costs less;
  /// of Mcts, of the first of `bounds`.
  bool optimal = false;
  /// Where whole graphs were run: the source and of what was found, interleaved.
  std::optional<Comparison> comparison;
  /// The search found another graph than the source; and the source is the result all the same: by
  /// that comparison, a fault (WholeRuns), or prices. keep_source() alone sets the second.
  bool found_other = false, source_returned = false;
  Disturbance disturbance = Disturbance::None; // of it: another day it may come out otherwise
  bool slow_machine = false;                   // of it, as WholeRuns has it
  double tried_us = 0;                         // the price of what was run
  double finalists_s = 0;                      // that it took
  size_t finalists = 1;  // distinct graphs that were measured whole, beside the source
  bool recalled = false; // it is an earlier search's, which this one did not better
  std::optional<Comparison> recalled_times; // of then, where it is not the source
  /// What loading and running the graphs takes, as far as this search or one before it knows.
  double judging_s = 0;

  /// The result is another graph than the source.
  bool changed() const { return found_other && !source_returned; }

  /// True if the bound may be stated of everything that the rules lead to: no limit and no
  /// interruption ended the search or the extraction.
  bool bounds_all() const { return lower_bound_us && holds_all && cut_extractions == 0; }

  /// Another graph than that which they are of is the result.
  void forget_bounds() {
    lower_bound_us.reset();
    bounds.clear();
    optimal = holds_all = false;
  }
};

struct Optimized {
  Graph graph;
  OptimizeReport report;
  /// Where asked for: how the result follows from the source; no steps where it is the source.
  std::optional<Derivation> chain = {};
  std::string unexplained = {}; // why there is none: a fault
};

/// Two graphs, run whole interleaved.
struct WholeRuns {
  Comparison times;
  /// Why the second cannot take the first's place: it does not run, or its outputs differ. Then
  /// there are no times.
  std::string fault = {};
  std::string note = {}; // what a person should know beside the times
  /// By others who computed meanwhile: what seems faster beside them need not be so alone.
  Disturbance disturbance = Disturbance::None;
  bool slow_machine = false; // it computed slower than usual, though no other program ran
  /// The times are sums over parts of the graphs: only a gain beyond the noise counts.
  bool in_parts = false;
};

/// A graph, run whole beside a source: the median in microseconds, or why it cannot take the
/// source's place.
struct ScreeningResult {
  double median_us = 0;
  std::string fault = {};
};

/// What the operators of a graph take within its whole runs, in place: each node with what the
/// backend put in before it.
struct PlacedNodes {
  struct One {
    NodeId node;
    double microseconds = 0;
  };
  std::vector<One> nodes;
  TimeTrust trust = TimeTrust::Passing;
};

/// What an earlier optimisation came to. It may be the source itself.
struct KnownResult {
  Graph graph; // over the source's table of symbols
  std::vector<RuleCount> rules_applied = {};
  /// Prices of then: of the source, of this graph, and of the one that was run beside the source;
  /// where that lost, another of such a price promises nothing.
  double before_us = 0, after_us = 0, tried_us = 0;
  Comparison times = {}; // of the source and the graph that was run; high 0: none was
  double judging_s = 0;  // of the report
};

/// Builds and times whole graphs: the compiler's door to a device.
class FinalistRunner {
public:
  virtual ~FinalistRunner() = default;
  /// Builds both, compares the outputs of the second with those of the first, and times them in
  /// turns (runtime/measure/time_runs.h). Errors: those of the first; `limit_no_answer` where there
  /// was no time to run both.
  virtual Result<WholeRuns> compare(const Graph& first, const Graph& second) = 0;
  /// The same by several times as many runs at least, where a runner has such.
  virtual Result<WholeRuns> compare_longer(const Graph& first, const Graph& second,
                                           size_t /*times*/) {
    return compare(first, second);
  }
  /// Builds each, compares its outputs with those of the source, and times some whole runs. Empty:
  /// not done here. Errors: those of the source.
  virtual Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                                      llvm::ArrayRef<const Graph*> graphs) {
    (void)source, (void)graphs;
    return std::vector<ScreeningResult>();
  }
  /// What each operator takes in place: of the source, and of `other` where there is one, both in
  /// turns. Empty: not done here. Errors: those of either graph.
  virtual Result<std::vector<PlacedNodes>> time_in_place(const Graph& source, const Graph* other) {
    (void)source, (void)other;
    return std::vector<PlacedNodes>();
  }
  /// The result of an earlier optimisation of this source by this search and these rules, whatever
  /// its limits; nullopt: none is known, or none is kept.
  virtual std::optional<KnownResult> recall(const Graph& source, llvm::ArrayRef<Rule> rules,
                                            const OptimizeOptions& options) {
    (void)source, (void)rules, (void)options;
    return std::nullopt;
  }
  /// Keeps one that met its source, or found none that could, for recall().
  virtual void keep(const Graph& source, llvm::ArrayRef<Rule> rules, const OptimizeOptions& options,
                    const Optimized& result) {
    (void)source, (void)rules, (void)options, (void)result;
  }
};

/// `finalists` may be null, or fail on the source: then the prices alone decide. Where it had no
/// time, the source is the result. What a `second_opinion` (null: none) chooses by its own prices
/// is one of several finalists. Errors: `no_solution`.
Result<Optimized> optimize(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                           const OptimizeOptions& options, FinalistRunner* finalists,
                           CostModel* second_opinion = nullptr);

} // namespace tg
