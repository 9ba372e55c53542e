// Judges a rule that is given as text.
#pragma once

#include "compiler/rules/from_ast.h"
#include "compiler/verify/verify_rule.h"
#include "lang/syntax/parse.h"
#include "tests/unit/verify/status_name.h"

#include <algorithm>

namespace tg::test {

/// The worst status and the weakest class of all forms of a rule, and the reasons.
/// The status is empty for a rule that the rule compiler rejects.
struct Judged {
  RuleVerdict::Status status = RuleVerdict::Status::Empty;
  bool tested = false; // at least one form
  Numerics numerics = Numerics::Exact;
  std::string why;
};

inline Judged judge(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("rule.tg", text + "\n");
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  Judged judged;
  if (!rules.empty()) judged.status = RuleVerdict::Status::Tested;
  for (const Diagnostic& d : sink.all())
    judged.why += d.message + (d.notes.empty() ? "" : ": " + d.notes[0]) + "; ";
  RuleCheckOptions options;
  options.smaller = 0;
  for (const Rule& rule : rules) {
    RuleVerdict verdict = verify_rule(rule, options);
    judged.status = std::max(judged.status, verdict.status);
    judged.tested |= verdict.status == RuleVerdict::Status::Tested;
    judged.numerics = std::max(judged.numerics, verdict.numerics);
    if (!verdict.why.empty())
      judged.why += status_name(verdict.status).str() + ": " + verdict.why + "; ";
  }
  return judged;
}

} // namespace tg::test
