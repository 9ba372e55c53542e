// Optimises a graph: applies rules to the source graph and returns the cheapest graph by the cost
// model, with a report. The result never costs more than the source under the model in use. With
// measured costs, both graphs are run, and the source is returned if the new graph is not faster
// beyond the noise.
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

/// Mcts is the default search (search/portfolio/portfolio.h).
enum class Search : uint8_t {
#define TG_STRATEGY(id, name, instance) id,
#include "compiler/optimizer/strategy/strategies.def"
#undef TG_STRATEGY
};
llvm::StringRef search_name(Search search); // "mcts"

class SearchStrategy;

/// A graph in the form in which it is used, if that is not the graph itself.
struct UsedForm {
  Graph graph; // with the operators of that form
  size_t operators = 0;
  std::string digest; // equal for forms that are equal except for names
  /// Subgraphs of `graph` that are one operator each in that form.
  std::vector<Graph> joined = {};
  /// `graph` has the inputs, weights and outputs of the given graph, and is the source of a later
  /// optimisation of the result.
  bool is_source = false;
};

struct OptimizeOptions {
  Search search = Search::Saturate;
  /// If given, runs instead of `search`; its name appears in reports.
  const SearchStrategy* strategy = nullptr;
  std::string strategy_name;
  /// Iterations, limits, cycle filter and numerics of exploration.
  SaturateOptions explore;
  size_t budget = 64, depth = 16; // for Search::Random: rollouts and steps of each
  /// For Search::Mcts. Limits, seed, numerics and extraction come from `explore` and `extract`.
  PortfolioOptions portfolio;
  LocalOptions local; // for Anneal and Taso, likewise
  SearchTrace* trace = nullptr;
  /// Number of graphs to run whole, including the best by price, with a FinalistRunner.
  size_t finalists = 8;
  /// Whole runs must show a gain beyond the noise. Otherwise they must not show a loss, so that a
  /// gain by guessed prices is not given up for measurement noise.
  bool must_gain = true;
  /// Derive the chain of rewrites from the source to the result.
  bool explain = false;
  /// Returns the form in which a graph is used; null: the graph itself. nullopt: it cannot be used.
  std::function<std::optional<UsedForm>(const Graph&)> used_as = {};
  /// Extractor, its limits, and the bound on weights.
  ExtractOptions extract;
  /// Use single kernels of the device for several operators. For Saturate and Random, extraction
  /// prices such kernels (ExtractOptions::kernels) if the rules in use lead there. For Mcts,
  /// kernels that the search missed are added to the result. In all three, other finalists get them
  /// as well. Off for searches that reproduce a publication.
  bool kernels = false;
  /// Refine the result by group prices, if the cost model has them (CostModel::groups).
  bool groups = false;
  RefineOptions refine; // limits: graphs priced, and time
  /// Searches restart with better prices (refined_search.h) until this many seconds after the
  /// start.
  double refine_time_s = 5;
  /// Search even if an earlier result is known that took long to judge, instead of returning it at
  /// once. Set if the user specifies limits or the start of the search.
  bool search_on = false;
  /// Ends all phases, in addition to the phases' limits (explore, extract, refine). The result is
  /// the best so far.
  TimePlan time = {};
};

/// Sets the limits of a search and of its extractions. A negative time or node limit selects the
/// default for options.search. Tree searches use e-graphs of 2,000 nodes, as published; plain
/// saturation, also within Mcts, uses 50,000. Mcts ends after 10 s in total; the others have 60 s
/// to explore and 60 s to extract. If prices are `guessed` and measured between searches, each
/// search of Mcts is short, because it finds its result within a second and spends the remaining
/// time on proofs. The deadline of the whole optimisation is `options.time`.
void set_limits(OptimizeOptions& options, double time_limit_s, int64_t node_limit,
                bool guessed = false);

struct Optimized {
  Graph graph;
  OptimizeReport report;
  /// With `explain`: the derivation from the source; no steps if the result is the source.
  std::optional<Derivation> chain = {};
  std::string unexplained = {}; // the reason why it is missing, a bug
};

/// The results of interleaved whole runs of two graphs.
struct WholeRuns {
  Comparison times;
  /// The reason why the second cannot replace the first: it does not run, or its outputs differ.
  /// Then there are no times.
  std::string fault = {};
  std::string note = {}; // additional information for the user
  /// Load from other programs during the runs: a gain under load may not exist without it.
  Disturbance disturbance = Disturbance::None;
  bool slow_machine = false; // slower than usual without other programs
  /// The times are sums over parts of the graphs, so only a gain beyond the noise counts.
  bool in_parts = false;
};

/// The result of whole runs of a graph: the median in microseconds, or the reason why the graph
/// cannot replace the source.
struct ScreeningResult {
  double median_us = 0;
  std::string fault = {};
};

/// The times of a graph's operators within its whole runs. Each node's time includes the operations
/// that the backend inserts before it.
struct PlacedNodes {
  struct One {
    NodeId node;
    double microseconds = 0;
  };
  std::vector<One> nodes;
  TimeTrust trust = TimeTrust::Passing;
};

/// The result of an earlier optimisation. It may be the source itself.
struct KnownResult {
  Graph graph; // over the symbols of the source
  std::vector<RuleCount> rules_applied = {};
  /// Prices at that time: of the source, of this graph, and of the graph that was run beside the
  /// source. If that graph lost, another graph with such a price is not expected to win.
  double before_us = 0, after_us = 0, tried_us = 0;
  Comparison times = {}; // of the source and the graph that was run; high 0: none
  double judging_s = 0;  // from the report
};

/// Builds and times whole graphs: the compiler's interface to a device.
class FinalistRunner {
public:
  virtual ~FinalistRunner() = default;
  /// Builds both graphs, compares their outputs, and times them interleaved
  /// (runtime/measure/time_runs.h). Errors: those of the first; `limit_no_answer` if there was no
  /// time to run both.
  virtual Result<WholeRuns> compare(const Graph& first, const Graph& second) = 0;
  /// The same with at least `times` times as many runs, if the runner supports it.
  virtual Result<WholeRuns> compare_longer(const Graph& first, const Graph& second,
                                           size_t /*times*/) {
    return compare(first, second);
  }
  /// Builds each graph, compares its outputs with those of the source, and times some whole runs.
  /// Empty: not supported. Errors: those of the source.
  virtual Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                                      llvm::ArrayRef<const Graph*> graphs) {
    (void)source, (void)graphs;
    return std::vector<ScreeningResult>();
  }
  /// Times each operator in place, of the source and of `other` if given, interleaved. Empty: not
  /// supported. Errors: those of either graph.
  virtual Result<std::vector<PlacedNodes>> time_in_place(const Graph& source, const Graph* other) {
    (void)source, (void)other;
    return std::vector<PlacedNodes>();
  }
  /// Returns the result of an earlier optimisation of this source by this search and these rules,
  /// regardless of its limits; nullopt if there is none.
  virtual std::optional<KnownResult> recall(const Graph& source, llvm::ArrayRef<Rule> rules,
                                            const OptimizeOptions& options) {
    (void)source, (void)rules, (void)options;
    return std::nullopt;
  }
  /// Stores a result for recall(), if it was compared with its source or nothing was found.
  virtual void keep(const Graph& source, llvm::ArrayRef<Rule> rules, const OptimizeOptions& options,
                    const Optimized& result) {
    (void)source, (void)rules, (void)options, (void)result;
  }
};

/// `finalists` may be null, or fail on the source; then only prices decide. If there was no time to
/// run it, the result is the source. The choice of `alternative_costs` (null: none) by its own
/// prices is one of several finalists. Errors: `no_solution`.
Result<Optimized> optimize(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                           const OptimizeOptions& options, FinalistRunner* finalists,
                           CostModel* alternative_costs = nullptr);

} // namespace tg
