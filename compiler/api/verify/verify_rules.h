// Rules selected and verified: `tangram::verify_rules` and `tg rules verify` come this way; an
// optimisation selects its own by the same parts and has them verified by require_trusted()
// (rule_trust.h).
#pragma once

#include "compiler/api/verify/rule_trust.h"
#include "compiler/rules/from_ast.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "tangram/tangram.h"

#include <optional>

namespace tg {

/// What a program gives that sees more of a verification than its verdicts.
struct VerifyRulesHost {
  /// When all of it has to end. None: at the limits of the options.
  std::optional<StopToken> stop = {};
  bool isolated = false; // each check in a process of its own
};

struct RulesVerified {
  std::vector<Rule> rules;
  std::vector<RuleVerdict> verdicts; // of each
  std::vector<UnreadRule> unread;    // errors of the sink, while there are other rules
};

/// nullopt if the sink got errors beside those of `RulesVerified::unread`: of the options, of
/// files, of texts without any rule that can be read.
std::optional<RulesVerified> verify_rules(const tangram::VerifyRulesOptions& options,
                                          const VerifyRulesHost& host, SourceManager& sources,
                                          DiagnosticSink& sink);

/// As it is reported: what was proved is distinguished from what was tested alone.
tangram::RuleStatus status_of(const RuleVerdict& verdict);

// --- its parts ----------------------------------------------------------------------------------

/// What a selection (load_rules) and a text declare; the whole library where both are empty.
/// nullopt if the sink got errors; with `unread`, others than those of rules that are added to it.
std::optional<std::vector<Rule>> select_rules(llvm::ArrayRef<std::string> selection,
                                              const std::string& text, SourceManager& sources,
                                              DiagnosticSink& sink,
                                              std::vector<UnreadRule>* unread = nullptr);

/// The rules that a text declares, none for "". What is wrong goes to the sink, and then there are
/// no rules; with `unread`, those without errors, if all errors are within rules.
std::vector<Rule> rules_of_text(const std::string& text, SourceManager& sources,
                                DiagnosticSink& sink, std::vector<UnreadRule>* unread = nullptr);

} // namespace tg
