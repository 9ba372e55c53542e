// Parses one rule from its text, for tests.
#pragma once

#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

#include <optional>
#include <string>

namespace tg {

/// Returns the first form of the declaration. If it is refused, prints the errors
/// and returns nullopt.
inline std::optional<Rule> rule_from_text(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("rule.tg", text + "\n");
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  if (rules.empty()) return std::nullopt;
  return rules[0];
}

} // namespace tg
