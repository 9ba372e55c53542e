// Selects and verifies rules, for `tangram::verify_rules` and `tg rules verify`. An optimisation
// selects its rules with the same functions, and verifies them with require_trusted()
// (rule_trust.h).
#pragma once

#include "compiler/api/verify/rule_trust.h"
#include "compiler/rules/from_ast.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "tangram/tangram.h"

#include <optional>

namespace tg {

/// Optional inputs of a program that shows more of a verification than its verdicts.
struct VerifyRulesHost {
  /// The stop for the whole verification. Empty: at the limits of the options.
  std::optional<StopToken> stop = {};
  bool isolated = false; // run each check in a separate process
};

struct RulesVerified {
  std::vector<Rule> rules;
  std::vector<RuleVerdict> verdicts; // by rule
  std::vector<UnreadRule> unread;    // errors of the sink, if there are other rules
};

/// Returns nullopt if the sink got errors other than those of `RulesVerified::unread`: of the
/// options, of files, of texts without a readable rule.
std::optional<RulesVerified> verify_rules(const tangram::VerifyRulesOptions& options,
                                          const VerifyRulesHost& host, SourceManager& sources,
                                          DiagnosticSink& sink);

/// Returns the reported status, which distinguishes proved from tested rules.
tangram::RuleStatus status_of(const RuleVerdict& verdict);

// --- steps --------------------------------------------------------------------------------------

/// Returns the rules of a selection (load_rules) and a text, or the whole library if both are
/// empty. Returns nullopt if the sink got errors; with `unread`, errors of rules added to it do not
/// count.
std::optional<std::vector<Rule>> select_rules(llvm::ArrayRef<std::string> selection,
                                              const std::string& text, SourceManager& sources,
                                              DiagnosticSink& sink,
                                              std::vector<UnreadRule>* unread = nullptr);

/// Returns the rules that a text declares, none for "". Errors go to the sink, and then no rules
/// are returned; with `unread`, those without errors are returned if all errors are within rules.
std::vector<Rule> rules_of_text(const std::string& text, SourceManager& sources,
                                DiagnosticSink& sink, std::vector<UnreadRule>* unread = nullptr);

} // namespace tg
