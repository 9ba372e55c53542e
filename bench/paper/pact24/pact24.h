// The Monte Carlo tree search over e-graphs of PACT 2024, as published and as its program does it:
// an action is one rule applied everywhere for one iteration; a decision is made by `budget`
// simulations, each a walk down the tree (UCB1; at a node that is not fully expanded it stops with
// probability 1/2), one new node, a random rollout, and the discounted sum of cost reductions in
// milliseconds carried back up; then the action of the best mean is applied for good.
//
// States are not copied: the tree stores the changes of each action (Delta), which are undone and
// redone. We keep these peculiarities of the published program: a rollout has depth + 1 steps;
// rollouts draw from all rules, including those that cannot fire; rewards are raw milliseconds, so
// selection is close to uniform on fast models; by default the tree is discarded after each
// decision. We leave out the sleep of one second per decision, the stop at a cost of 0.1 ms (it
// depends on the cost model, and no published network reached it), and the time limit of 10 s per
// step.
#pragma once

#include "compiler/search/explorer.h"
#include "compiler/search/trace.h"
#include "lang/core/support/stop.h"

#include <functional>

namespace tg::paper {

struct Pact24Report;

struct Pact24Options : SearchLimits {
  int budget = 128; // simulations for a decision
  int depth = 10;
  double exploration = 2; // c in q/n + c sqrt(2 ln N / n)
  double discount = 0.99;
  bool reuse_tree = false;
  int max_decisions = 200;
  ExplorerOptions explore; // node_limit 2,000
  /// Called after each decision, with the e-graph in the state that it led to.
  std::function<void(const Pact24Report&)> decided = {};
};

struct Pact24Report {
  StopReason stop = StopReason::Saturated;
  int decisions = 0;
  size_t simulations = 0, steps = 0; // steps: rules applied, including those without effect
  size_t states_priced = 0;
  double start_cost = 0, end_cost = 0; // as rewards see them
  double seconds = 0, pricing_s = 0;
  size_t nodes = 0, classes = 0, memory_bytes = 0;
  std::vector<RuleStats> rules; // by RuleId, over all steps
};

/// The price of a rebuilt e-graph in microseconds, from which rewards are computed. `forget` is
/// called with nodes whose changes are about to be undone.
class StatePrice {
public:
  virtual ~StatePrice() = default;
  virtual double price(const EGraph& egraph) = 0;
  virtual void forget(llvm::ArrayRef<ENodeId> changed) = 0;
  /// Returns the number of prices whose computation a time limit ended; more time might lower them.
  virtual size_t cut_short() const { return 0; }
};

/// Returns UCB1 as the published program computes it: the mean return plus a bonus for rare visits.
/// Both counts must be at least 1.
double ucb1(double mean, uint32_t visits, uint32_t parent_visits, double c);

/// Runs the search and leaves the e-graph in the state after the last decision.
Pact24Report search_pact24(EGraph& egraph, llvm::ArrayRef<Rule> rules, const Pact24Options& options,
                           StatePrice& price);

} // namespace tg::paper
