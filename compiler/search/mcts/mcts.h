// Monte Carlo tree search over one e-graph, as we ship it. A node of the tree is a state of the
// e-graph, an edge an action; a simulation walks down by an upper confidence bound, adds a node,
// and goes on at random from there; what the best choice of nodes on the way costs is the reward.
// Against the published search (pact24.h), each to be turned off for comparison:
//
//   whole rules and single places   progressive widening: a node starts with a few actions, drawn
//                                   by prior, and gets more with its visits; an action is a rule
//                                   everywhere, everywhere where things look equal, or at one place
//   only what can fire              actions come from matches that are there and not yet applied;
//                                   kinds of matches that were refused once are not drawn again
//   priors                          a policy (policy.h) weighs the actions
//   rewards normalised              gain of the best state of a simulation over the most so far
//   transpositions                  states reached by other orders share their statistics
//   guidance                        a policy that looks at graphs leads the way down (PUCT) and
//   says
//                                   what a leaf is worth beside what was seen beyond it
//
// Simulations come in batches of a fixed size: first the leaves of all are chosen and added to the
// tree, with virtual loss; then all are played on from there, on as many threads as there are
// (board.h); then what they saw is counted and learned, in their order. So the number of threads
// changes nothing but the time.
//
// The value of a state is the cost of its incumbent (incumbent.h); the best graph is kept at any
// moment.
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

/// A decision, for those who learn from searches.
struct DecisionRecord {
  const Graph& graph; // the best one of the state
  double cost_us = 0; // of it
  /// [rules, kGrains]: how often an action was taken in the simulations from here, and what these
  /// gained beyond the others, shared among their actions: relative.
  std::vector<double> visits, gains;
};

struct MctsOptions : SearchLimits {
  int budget = 128; // simulations for a decision
  int depth = 10;   // random steps of a simulation
  double exploration = 0.5;
  bool reuse_tree = true;
  /// Decisions without a gain after which the search ends (the first, where nothing was ever
  /// gained); simulations, in a decision.
  int patience = 2, simulation_patience = 48;
  /// The first decisions bind all that follow: once this share of the cost is gained, they wait for
  /// more simulations. Without, seeds came to different ends (nasrnn by TASO's rules).
  double promising_gain = 0.05;
  int promising_decisions = 3, promising_patience = 96;
  int batch = 8; // simulations that are chosen before the first of them counts
  /// More than one needs `costs`, which they ask at once.
  int threads = 1;
  SharedCost* costs = nullptr;
  ExplorerOptions explore;
  double guidance = 1.5; // the constant of PUCT, where the policy guides
  /// Actions of the root that a decision begins with, of which the better half goes on again and
  /// again (halving.h), for budgets of few simulations; 0: bounds choose there, too.
  size_t halving = 0;
  /// Decisions in all.
  int decisions = std::numeric_limits<int>::max();
  /// Called after the simulations of each decision.
  std::function<void(const DecisionRecord&)> decided = {};
  /// Called after each batch: simulations, and the least cost so far.
  std::function<void(size_t simulations, double best_cost)> simulated = {};
  /// Called between batches, now and then, with what is known so far: counts and the best.
  std::function<void(const MctsReport&)> progress = {};
  // What can be turned off.
  bool widen = true, firing = true, normalise = true, transpose = true;
};

/// A graph that was found, and the rules whose work is in it.
struct Found {
  Graph graph;
  double cost_us = 0;
  std::vector<RuleUse> rules; // by rule
  /// Of the e-graph in the state where it was found; nothing if that keeps none.
  std::shared_ptr<const History> history;
};

struct MctsReport {
  StopReason stop = StopReason::Saturated;
  int decisions = 0;
  size_t simulations = 0, steps = 0, transpositions = 0;
  double start_cost = 0, best_cost = 0;
  std::optional<Found> best; // nothing if no state was better than the first
  double seconds = 0;
  size_t nodes = 0, classes = 0; // where the decisions led
  size_t most_nodes = 0, memory_bytes = 0;
  std::vector<RuleStats> rules;    // by RuleId, over all steps
  std::vector<RuleRecord> records; // by RuleId: what was tried and what paid
};

/// Leaves the e-graph in the state that the decisions led to. `source`: what it was made from.
MctsReport search_mcts(EGraph& egraph, const Graph& source, llvm::ArrayRef<Rule> rules,
                       PriceCache& prices, const MctsOptions& options, Policy& policy);

/// What an e-graph has recorded, if it does.
std::shared_ptr<const History> told_by(const EGraph& egraph);

/// Rules that made chosen nodes, and at how many places each. Merges are not looked at.
std::vector<RuleUse> rules_behind(const EGraph& egraph, llvm::ArrayRef<ENodeId> nodes);

} // namespace tg
