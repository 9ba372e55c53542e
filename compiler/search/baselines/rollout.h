// Search by random rollouts. Each rollout starts at the same state, applies random rules, prices
// the best extraction after each step, and rolls the e-graph back. The best state is then restored
// by redoing its change. A state is a checkpoint and a Delta, and a step is a rule: the operations
// that a tree search needs.
#pragma once

#include "compiler/search/saturate.h"

namespace tg {

struct RolloutOptions : SearchLimits {
  int rollouts = 64;
  int depth = 16;             // steps per rollout
  size_t node_limit = 10'000; // a rollout ends at this e-graph size
  size_t step_matches = 64;   // most matches, drawn at random, that one step applies
  CycleFilter cycle_filter = CycleFilter::Efficient;
  Numerics numerics = Numerics::Risky; // rules of a riskier class are skipped
};

struct RolloutReport {
  StopReason stop = StopReason::Iterations;
  int rollouts = 0;
  size_t steps = 0;
  double start_cost = 0, best_cost = 0;
  int best_rollout = -1;     // -1: no rollout improved on the start
  std::vector<double> costs; // the best cost of each rollout
  double seconds = 0;
  size_t nodes = 0, classes = 0; // size of the best state
  std::vector<RuleStats> rules;  // by RuleId, summed over all rollouts
};

/// Returns the price of the best extraction from a rebuilt e-graph. Must be deterministic.
using StateCost = llvm::function_ref<double(const EGraph&)>;

/// Leaves the e-graph in the best state found. If the search ends by its number of rollouts, the
/// same input and seed give the same result.
RolloutReport search_rollouts(EGraph& egraph, llvm::ArrayRef<Rule> rules,
                              const RolloutOptions& options, StateCost cost);

} // namespace tg
