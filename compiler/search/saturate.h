// Equality saturation on TENSAT's schedule (MLSys 2021): some iterations with multi-pattern rules,
// then more without. An iteration searches, applies, rebuilds, and breaks the resulting cycles.
//
// Limits can stop an iteration after any single application; the e-graph is still rebuilt and
// filtered. Rules alternate after a fixed number of matches, so that a limit does not starve later
// rules. Work is proportional to change: a rule searches only what changed since it last ran.
//
// The compatible mode follows egg 0.9's schedule: each rule is applied to all its matches in order,
// rules with too many matches are banned for some iterations (backoff), and limits are checked only
// between iterations. Unlike egg, it searches only near changes, and derives the number of all
// matches from that (match_tally.h).
#pragma once

#include "compiler/egraph/cycle.h"
#include "compiler/rules/rule.h"
#include "compiler/search/limits.h"

#include <functional>

namespace tg {

struct SaturateOptions : SearchLimits {
  int iterations = 15;        // k_max
  int multi_iterations = 1;   // k_multi: number of first iterations with multi-pattern rules
  size_t node_limit = 50'000; // live e-nodes
  /// Maximum number of new e-nodes by multi-pattern rules; 0: only the node limit.
  size_t multi_node_limit = 0;
  CycleFilter cycle_filter = CycleFilter::Efficient;
  /// Rules of a riskier class are skipped.
  Numerics numerics = Numerics::Risky;
  bool compatible = false;
  std::function<void(size_t nodes)> progress = {}; // called periodically
};

struct RuleStats {
  size_t matches = 0; // matches found
  size_t applied = 0; // matches that changed the e-graph
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
  size_t matches = 0; // over all rules
  double seconds = 0;
  double search_s = 0, apply_s = 0, rebuild_s = 0; // rebuild: and breaking cycles
  size_t memory_bytes = 0;                         // peak of e-graph and search
  uint64_t seed = 0;
  std::vector<RuleStats> rules; // by RuleId
};

/// RuleIds in the e-graph are positions in `rules`, which must outlive the e-graph.
SaturateReport saturate(EGraph& egraph, llvm::ArrayRef<Rule> rules, const SaturateOptions& options);

} // namespace tg
