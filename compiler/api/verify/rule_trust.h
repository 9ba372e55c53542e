// Which rules may be used: verification of many rules at once, on all cores, and the memory of
// what was verified before.
//
// A verdict is kept by the fingerprint of the rule and of the operator table
// (verify/verify_rule.h), in a text file beside the cost database; only rules that passed are
// remembered. The file is a cache and nothing more: what cannot be read is verified again.
#pragma once

#include "compiler/verify/verify_rule.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

#include <functional>

namespace tg {

struct TrustOptions {
  RuleCheckOptions check = {};
  bool proofs = false;    // also try to prove those that hold, for all sizes
  int threads = 0;        // 0: one for each core
  std::string cache = {}; // "" = nothing is remembered
  /// Where it is asked, the verdicts of the rules that are left are `Stopped`.
  StopToken stop = {};
  /// In processes of their own, so that a fault in one check is that rule's alone (in_children.h).
  bool isolated = false;
  /// What a rule is judged by.
  std::function<RuleVerdict(const Rule&, const RuleCheckOptions&)> verify = verify_rule;
  /// Called after each rule that had to be verified, from one thread at a time.
  std::function<void(size_t done, size_t total)> progress = {};
};

/// $XDG_CACHE_HOME/tangram/rules.verified or ~/.cache/...; "" if there is no home.
std::string default_rule_cache();

/// Verdicts in the order of the rules. Remembered ones count only if they are of as many cases.
std::vector<RuleVerdict> verify_rules(llvm::ArrayRef<Rule> rules, const TrustOptions& options);

/// Verifies the rules that do not come with the program; one that states no class of numerics has
/// the one that this found. Errors: `rule_refuted`, for the first that is not verified;
/// `limit_no_answer` where it was stopped.
Result<void> require_trusted(llvm::MutableArrayRef<Rule> rules, const TrustOptions& options);

} // namespace tg
