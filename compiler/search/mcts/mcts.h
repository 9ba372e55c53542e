// Monte Carlo tree search over one e-graph, as in the MCTS optimizer (PACT 2024). The default
// search (portfolio.h) uses it. A node of the tree is a state of the e-graph and an edge is an
// action. A simulation descends by upper confidence bounds, adds a node, and continues with random
// actions. The reward is derived from the lowest cost of a choice of nodes on the way. A decision
// runs several simulations from the root, and then applies the action below which the best state
// was found.
//
// Example: two layers relu(x @ w + x) + x, with rules that move a sum into a product; an operator
// costs 1.
//
//   EGraph egraph = egraph_of(graph);
//   PriceCache prices(egraph.symbols(), costs); // a CostModel
//   StatisticsPolicy policy;
//   MctsReport report = search_mcts(egraph, graph, rules, prices, MctsOptions(), policy);
//   report.start_cost;                          // == 8
//   report.best->cost_us;                       // == 6: each layer has one sum less
//   verify(report.best->graph);                 // == ""
//
// Differences from the published search (bench/paper/pact24/pact24.h), each of which can be turned
// off for comparison:
//
//   whole rules and single places   for policies that guide: an action is a rule everywhere, in one
//                                   group of places, or at one place; a node starts with a few
//                                   actions, drawn by weight, and gets more with its visits
//   only applicable rules           actions come from open matches; groups of matches that were
//                                   refused once are not drawn again
//   priors                          a policy (policy.h) weights the actions
//   normalised rewards              gain of a simulation's best state over the highest gain so far
//   guidance                        a policy that looks at graphs guides the descent (PUCT) and
//                                   predicts the value of a leaf besides the observed one
//
// Simulations run in batches of a fixed size. First the leaves of the batch are selected and added
// to the tree, with virtual loss. Then all simulations are played on in parallel (board.h). Finally
// their results are counted and learned in order.
//
// Invariant: unless the clock or memory ends it, the result depends only on graph, rules, prices,
// policy, options and seed, and not on the number of threads.
//
// The value of a state is the cost of its incumbent (incumbent.h). The best graph is available at
// any moment.
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/search/explorer.h"
#include "compiler/search/mcts/policy.h"
#include "compiler/search/shared_cost.h"
#include "compiler/search/trace.h"
#include "lang/core/support/stop.h"

#include <functional>
#include <limits>
#include <optional>

namespace tg {

struct MctsReport;

/// A decision, for callers that learn from searches.
struct DecisionRecord {
  const Graph& graph; // the best graph of the state
  double cost_us = 0; // of that graph
  /// [rules, kGrains]: how often an action was taken in the simulations of this decision, and their
  /// relative gains above the mean, divided among their actions.
  std::vector<double> visits, gains;
};

struct MctsOptions : SearchLimits {
  int budget = 128; // simulations per decision
  int depth = 10;   // random steps per simulation
  double exploration = 0.5;
  bool reuse_tree = true;
  /// Number of decisions without a gain that end the search (one decision suffices if no gain was
  /// ever made), and of simulations without a gain that end a decision.
  int patience = 2, simulation_patience = 48;
  /// The first decisions constrain all later ones, so they take more simulations once this relative
  /// gain is reached. Without this, results varied between seeds (nasrnn with TASO's rules).
  double promising_gain = 0.05;
  int promising_decisions = 3, promising_patience = 96;
  int batch = 8; // simulations selected before their results are counted
  /// More than one requires `costs`, which the threads query concurrently.
  int threads = 1;
  SharedCost* costs = nullptr;
  ExplorerOptions explore;
  double guidance = 1.5; // the constant of PUCT, for guiding policies
  /// Number of root actions that a decision starts with; the better half continues each time
  /// (halving.h). For budgets of few simulations. 0: the root uses confidence bounds as well.
  size_t halving = 0;
  /// Maximum number of decisions.
  int decisions = std::numeric_limits<int>::max();
  /// Called after the simulations of each decision.
  std::function<void(const DecisionRecord&)> decided = {};
  /// Called after each batch with the number of simulations and the lowest cost so far.
  std::function<void(size_t simulations, double best_cost)> simulated = {};
  /// Called periodically between batches with the counts and the best result so far.
  std::function<void(const MctsReport&)> progress = {};
  // Features that can be turned off. `widen`: groups of places and single ones as well.
  bool widen = true, firing = true;
};

/// A graph found by the search, and the rules that made it.
struct Found {
  Graph graph;
  double cost_us = 0;
  std::vector<RuleUse> rules; // by rule
  /// History of the e-graph in the state of the graph; null unless the e-graph records it.
  std::shared_ptr<const History> history;
};

struct MctsReport {
  StopReason stop = StopReason::Saturated;
  int decisions = 0;
  size_t simulations = 0, steps = 0;
  double start_cost = 0, best_cost = 0;
  std::optional<Found> best; // empty if no state improved on the first
  double seconds = 0;
  size_t nodes = 0, classes = 0; // size of the final state
  size_t most_nodes = 0, memory_bytes = 0;
  std::vector<RuleStats> rules;    // by RuleId, over all steps
  std::vector<RuleRecord> records; // by RuleId: actions tried, and their gains
};

/// Leaves the e-graph in the state after the last decision. `source` is the graph it was built
/// from.
MctsReport search_mcts(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                       PriceCache& prices, const MctsOptions& options, Policy& policy);

/// Returns the history of an e-graph, or null unless it records one.
std::shared_ptr<const History> recorded_history(const EGraph& egraph);

/// Returns the rules that made the chosen nodes, each with its number of places. Ignores merges.
std::vector<RuleUse> rules_that_made(const EGraph& egraph, llvm::ArrayRef<ENodeId> nodes);

} // namespace tg
