// Search by random rollouts: from one state, again and again, some random rule applications, the
// price of what can be extracted after each, and back. The best state found is then reached once
// more by redoing its change. The first user of checkpoints, rollback and redo; the interface is
// what a tree search needs (a state is a checkpoint and a Delta, a step is a rule).
#pragma once

#include "compiler/search/saturate.h"

namespace tg {

struct RolloutOptions : SearchLimits {
  int rollouts = 64;
  int depth = 16;             // steps of a rollout
  size_t node_limit = 10'000; // a rollout ends there
  size_t step_matches = 64;   // of the rule drawn, at most so many matches, drawn too
  CycleFilter cycle_filter = CycleFilter::Efficient;
  Numerics numerics = Numerics::Risky; // rules of a class above this are left out
};

struct RolloutReport {
  StopReason stop = StopReason::Iterations;
  int rollouts = 0;
  size_t steps = 0;
  double start_cost = 0, best_cost = 0;
  int best_rollout = -1;     // -1: nothing was better than the start
  std::vector<double> costs; // the best of each rollout
  double seconds = 0;
  size_t nodes = 0, classes = 0; // of the best state
  std::vector<RuleStats> rules;  // by RuleId, over all rollouts
};

/// Price of the best that can be extracted from a rebuilt e-graph; deterministic.
using StateCost = llvm::function_ref<double(const EGraph&)>;

/// Leaves the e-graph in the best state.
/// Stopped by rollouts, the same input and seed give the same result.
RolloutReport search_rollouts(EGraph& egraph, llvm::ArrayRef<Rule> rules,
                              const RolloutOptions& options, StateCost cost);

} // namespace tg
