// The Monte Carlo tree search over e-graphs of PACT 2024, as published and as its program does it:
// an action is one rule applied everywhere for one iteration; a decision is made by `budget`
// simulations, each a walk down the tree (UCB1; at a node that is not fully expanded it stops with
// probability 1/2), one new node, a random rollout, and the discounted sum of cost reductions in
// milliseconds carried back up; then the action of the best mean is applied for good.
//
// States are not copied: the tree holds what each action changed (Delta) and goes back and forth.
// The program's peculiarities that are kept: a rollout has depth + 1 steps; rollouts draw from all
// rules, those included that cannot fire; rewards are raw milliseconds, so that on fast models
// selection is close to uniform; the tree is thrown away after each decision unless asked. Left
// out: the second of sleep for each decision, the stop at a cost of 0.1 ms (it means nothing under
// another cost model and was reached by none of the published networks), and its time limit of
// 10 s for a step.
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
  size_t simulations = 0, steps = 0; // steps: rules applied, those of no effect included
  size_t states_priced = 0;
  double start_cost = 0, end_cost = 0; // as rewards see them
  double seconds = 0, pricing_s = 0;
  size_t nodes = 0, classes = 0, memory_bytes = 0;
  std::vector<RuleStats> rules; // by RuleId, over all steps
};

/// What rewards are made of: a price of a rebuilt e-graph, in microseconds. `forget` is called with
/// nodes whose changes are about to be undone.
class StatePrice {
public:
  virtual ~StatePrice() = default;
  virtual double price(const EGraph& egraph) = 0;
  virtual void forget(llvm::ArrayRef<ENodeId> changed) = 0;
  /// Prices that the clock ended: more time might have found lower ones.
  virtual size_t cut_short() const { return 0; }
};

/// How much an action promises (UCB1, as the program computes it): what it gave on average, and
/// what is not known of it yet. Both counts at least 1.
double ucb1(double mean, uint32_t visits, uint32_t parent_visits, double c);

/// Leaves the e-graph in the state that the decisions led to.
Pact24Report search_pact24(EGraph& egraph, llvm::ArrayRef<Rule> rules, const Pact24Options& options,
                           StatePrice& price);

} // namespace tg::paper
