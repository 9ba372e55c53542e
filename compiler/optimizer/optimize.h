// The optimiser as one call: rules over a source graph, prices from a cost model, the cheapest
// graph out, with a report of what happened. The result never costs more than the source under the
// model in use; where costs are measured, both graphs are run and the source is returned if the new
// one is not faster beyond the noise.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/extract/extract.h"
#include "compiler/optimizer/report.h"
#include "compiler/optimizer/time_plan.h"
#include "compiler/search/baselines/local.h"
#include "compiler/search/baselines/rollout.h"

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
  /// What is one operator in that form and several in `graph`, each alone.
  std::vector<Graph> joined = {};
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
