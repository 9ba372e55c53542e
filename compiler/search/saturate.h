// Equality saturation on TENSAT's schedule (MLSys 2021): some iterations with multi-pattern rules,
// more without. An iteration searches, applies, rebuilds, and breaks the cycles that came of it.
//
// Limits stop within an iteration, after any single application; what is then left is rebuilt and
// filtered all the same. Rules take turns of a fixed number of matches, so that a limit does not
// starve the later ones. Work is proportional to change: a rule looks only at what changed since it
// last ran.
//
// The compatible mode is egg 0.9's schedule: each rule applied to all its matches in order, rules
// that match too often banned for some iterations (backoff), limits looked at between iterations
// only. Where egg searches afresh, it searches again only near what changed, and knows the number
// of all matches all the same (match_tally.h).
#pragma once

#include "compiler/egraph/cycle.h"
#include "compiler/rules/rule.h"
#include "compiler/search/limits.h"

#include <functional>

namespace tg {

struct SaturateOptions : SearchLimits {
  int iterations = 15;        // k_max
  int multi_iterations = 1;   // k_multi: multi-pattern rules run in so many of the first iterations
  size_t node_limit = 50'000; // live e-nodes
  /// New e-nodes by multi-pattern rules; 0: the node limit alone.
  size_t multi_node_limit = 0;
  CycleFilter cycle_filter = CycleFilter::Efficient;
  /// Rules of a class above this are left out.
  Numerics numerics = Numerics::Risky;
  bool compatible = false;
  std::function<void(size_t nodes)> progress = {}; // now and then, for whoever follows
};

struct RuleStats {
  size_t matches = 0; // found
  size_t applied = 0; // changed the e-graph
  size_t cyclic = 0;  // refused by the cycle filter
  int bans = 0;       // compatible mode
  RuleStats& operator+=(const RuleStats& more) {
    matches += more.matches;
    applied += more.applied;
    cyclic += more.cyclic;
    bans += more.bans;
    return *this;
  }
};

struct SaturateReport {
  StopReason stop{};
  int iterations = 0;
  size_t nodes = 0, classes = 0, filtered = 0;
  size_t matches = 0; // of all rules
  double seconds = 0;
  double search_s = 0, apply_s = 0, settle_s = 0; // settle: rebuilding and breaking cycles
  size_t memory_bytes = 0;                        // the most seen, e-graph and search
  uint64_t seed = 0;
  std::vector<RuleStats> rules; // by RuleId
};

/// RuleIds in the e-graph are positions in `rules`, which must outlive it.
SaturateReport saturate(EGraph& egraph, llvm::ArrayRef<Rule> rules, const SaturateOptions& options);

} // namespace tg
