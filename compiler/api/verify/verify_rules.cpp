#include "compiler/api/verify/verify_rules.h"

#include "compiler/api/files/model.h"
#include "compiler/api/public_types.h"
#include "compiler/rules/from_ast.h"
#include "compiler/verify/proof/proof.h"
#include "lang/syntax/parse.h"

namespace tg {

std::vector<Rule> rules_of_text(const std::string& text, SourceManager& sources,
                                DiagnosticSink& sink, std::vector<UnreadRule>* unread) {
  if (text.empty()) return {};
  const size_t before = sink.all().size();
  Ast tree = parse(sources, sources.add("<rules>", text), sink);
  if (sink.failed() && !unread) return {};
  std::vector<Rule> rules = rules_from_ast(tree, sources, sink);
  if (!unread) return rules;
  auto own = llvm::makeArrayRef(sink.all()).drop_front(before);
  std::optional<std::vector<UnreadRule>> broken = unread_rules({&tree}, sources, own);
  if (!broken) return {};
  llvm::append_range(*unread, *broken);
  return rules;
}

std::optional<std::vector<Rule>> select_rules(llvm::ArrayRef<std::string> selection,
                                              const std::string& text, SourceManager& sources,
                                              DiagnosticSink& sink,
                                              std::vector<UnreadRule>* unread) {
  std::optional<std::vector<Rule>> rules(std::in_place);
  if (!selection.empty())
    rules = load_rules(sources, library(), selection, sink, unread);
  else if (text.empty())
    rules = load_rule_library(sources, library(), sink);
  if (!rules) return std::nullopt;
  const size_t errors = sink.errors(), skipped = unread ? unread->size() : 0;
  llvm::append_range(*rules, rules_of_text(text, sources, sink, unread));
  const bool read = sink.errors() == errors || (unread && unread->size() > skipped);
  if (!read || (sink.failed() && rules->empty())) return std::nullopt;
  return rules;
}

tangram::RuleStatus status_of(const RuleVerdict& verdict) {
  using Public = tangram::RuleStatus;
  switch (verdict.status) {
  case RuleVerdict::Status::Tested:
    return verdict.proof == RuleVerdict::Proof::Proved ? Public::Proved : Public::Tested;
  case RuleVerdict::Status::Untested: return Public::Untested;
  case RuleVerdict::Status::Refuted: return Public::Refuted;
  case RuleVerdict::Status::Empty: return Public::Empty;
  case RuleVerdict::Status::Fault: return Public::Fault;
  case RuleVerdict::Status::Stopped: break;
  }
  return Public::Stopped;
}

std::optional<RulesVerified> verify_rules(const tangram::VerifyRulesOptions& o,
                                          const VerifyRulesHost& host, SourceManager& sources,
                                          DiagnosticSink& sink) {
  if (o.proof && !can_prove()) {
    sink.report(error(Code::usage,
                      "a proof (`--proof`) requires Z3, but this program was built without it"));
    return std::nullopt;
  }
  if (o.instances < 1) {
    sink.report(error(Code::usage, "`instances` must be at least 1"));
    return std::nullopt;
  }
  TrustOptions options;
  options.stop =
      host.stop ? *host.stop : stop_within(o.time_limit_s, o.memory_limit_mb, o.interrupt);
  std::vector<UnreadRule> unread;
  std::optional<std::vector<Rule>> rules =
      select_rules(o.rules, o.rule_text, sources, sink, &unread);
  if (!rules) return std::nullopt;
  options.check.instances = static_cast<size_t>(o.instances);
  options.check.seed = o.seed;
  options.proofs = o.proof;
  options.threads = o.threads;
  options.cache = o.rule_cache;
  options.isolated = host.isolated;
  options.progress = o.progress;
  std::vector<RuleVerdict> verdicts = verify_rules(*rules, options);
  return RulesVerified{std::move(*rules), std::move(verdicts), std::move(unread)};
}

} // namespace tg
