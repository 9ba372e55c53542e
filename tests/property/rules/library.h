// Loads the rule library from the source tree, for tests.
#pragma once

#include "compiler/rules/from_ast.h"
#include "compiler/rules/text.h"

#include <ostream>

namespace tg {

inline void PrintTo(const Rule& rule, std::ostream* out) { *out << rule_text(rule); }

namespace test {

/// Returns all rules under rules/, or the selected ones. If one of them has errors,
/// prints the errors and returns an empty list.
inline std::vector<Rule> library(const std::vector<std::string>& selection = {}) {
  SourceManager sources;
  DiagnosticSink sink;
  EmbeddedLoader loader({}, TG_SOURCE_DIR);
  std::optional<std::vector<Rule>> rules = selection.empty()
                                               ? load_rule_library(sources, loader, sink)
                                               : load_rules(sources, loader, selection, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return rules ? std::move(*rules) : std::vector<Rule>();
}

} // namespace test
} // namespace tg
