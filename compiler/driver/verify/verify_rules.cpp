#include "compiler/driver/verify/verify_rules.h"

#include "compiler/driver/files/model.h"
#include "compiler/driver/public_types.h"
#include "compiler/equiv/proof/proof.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

namespace tg {

std::vector<Rule> rules_of_text(const std::string& text, SourceManager& sources,
                                DiagnosticSink& sink) {
  if (text.empty()) return {};
  Ast tree = parse(sources, sources.add("<rules>", text), sink);
  return sink.failed() ? std::vector<Rule>() : rules_from_ast(tree, sources, sink);
}

std::optional<std::vector<Rule>> select_rules(llvm::ArrayRef<std::string> selection,
                                              const std::string& text, SourceManager& sources,
                                              DiagnosticSink& sink, Unread unread) {
  std::optional<std::vector<Rule>> rules(std::in_place);
  if (!selection.empty())
    rules = load_rules(sources, library(), selection, sink, unread);
  else if (text.empty())
    rules = load_rule_library(sources, library(), sink);
  if (rules) llvm::append_range(*rules, rules_of_text(text, sources, sink));
  if (sink.failed() && (unread == Unread::Fail || !text.empty())) return std::nullopt;
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
    sink.report(
        error(Code::usage, "a proof (`--proof`) needs Z3, which this program was built without"));
    return std::nullopt;
  }
  if (o.instances < 1) {
    sink.report(error(Code::usage, "`instances` takes a number of at least 1"));
    return std::nullopt;
  }
  TrustOptions options;
  options.stop =
      host.stop ? *host.stop : stop_within(o.time_limit_s, o.memory_limit_mb, o.interrupt);
  std::optional<std::vector<Rule>> rules = select_rules(
      o.rules, o.rule_text, sources, sink, host.skip_unread ? Unread::Skip : Unread::Fail);
  if (!rules) return std::nullopt;
  options.check.instances = static_cast<size_t>(o.instances);
  options.check.seed = o.seed;
  options.proofs = o.proof;
  options.threads = o.threads;
  options.cache = o.rule_cache;
  options.isolated = host.isolated;
  options.progress = o.progress;
  std::vector<RuleVerdict> verdicts = verify_rules(*rules, options);
  return RulesVerified{std::move(*rules), std::move(verdicts)};
}

} // namespace tg
