// Decides which rules may be used: verifies many rules in parallel, and caches verdicts.
//
// A verdict is stored by the fingerprint of the rule and of the operator table
// (verify/verify_rule.h), in a text file beside the cost database. Only rules that passed are
// stored. The file is only a cache: unreadable entries are verified again.
#pragma once

#include "compiler/verify/verify_rule.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

#include <functional>

namespace tg {

struct TrustOptions {
  RuleCheckOptions check = {};
  bool proofs = false;    // also try to prove rules that hold, for all sizes
  int threads = 0;        // 0: one for each core
  std::string cache = {}; // "" = no cache
  /// If it ends the verification, the verdicts of the remaining rules are `Stopped`.
  StopToken stop = {};
  /// Use separate processes, so that a crash only affects one rule (in_children.h).
  bool isolated = false;
  /// The function that judges a rule.
  std::function<RuleVerdict(const Rule&, const RuleCheckOptions&)> verify = verify_rule;
  /// Called after each rule that had to be verified, from one thread at a time.
  std::function<void(size_t done, size_t total)> progress = {};
};

/// $XDG_CACHE_HOME/tangram/rules.verified or ~/.cache/...; "" if there is no home.
std::string default_rule_cache();

/// Returns verdicts in the order of the rules. Cached ones count only if they have at least as many
/// cases.
std::vector<RuleVerdict> verify_rules(llvm::ArrayRef<Rule> rules, const TrustOptions& options);

/// Verifies the rules that do not come with the program. A rule that does not state its class of
/// numerics gets the class found. Errors: `rule_refuted`, for the first rule that is not verified;
/// `limit_no_answer` if it was stopped.
Result<void> require_trusted(llvm::MutableArrayRef<Rule> rules, const TrustOptions& options);

} // namespace tg
