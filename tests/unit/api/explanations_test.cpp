// Tests the explanations of diagnostics: each code has one, and its examples behave as stated.
#include "compiler/api/files/model.h"
#include "compiler/rules/from_ast.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

#include <set>

namespace tg {
namespace {

constexpr Code kCodes[] = {
#define TG_DIAGNOSTIC(name, number, summary) Code::name,
#include "lang/core/diagnostics.def"
};

TEST(Explanations, EveryDiagnosticHasOneInTheOrderOfTheTable) {
  std::vector<std::string> table, explained;
  for (Code code : kCodes) table.push_back(code_text(code));
  for (const Explanation& e : explanations()) explained.push_back(code_text(e.code));
  EXPECT_EQ(explained, table);
}

/// Returns the codes of the diagnostics for a text that is checked as models and as rules.
std::set<std::string> codes_of(llvm::StringRef text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("example.tg", text.str());
  Program program = load_program(sources, library(), file, sink);
  if (!sink.failed() && check(program, sink))
    (void)rules_from_ast(program.modules[0].ast, sources, sink);
  std::set<std::string> codes;
  for (const Diagnostic& d : sink.all()) codes.insert(code_text(d.code));
  return codes;
}

TEST(Explanations, TheWrongExampleGivesTheCodeAndTheRightOneNone) {
  for (const Explanation& e : explanations()) {
    EXPECT_FALSE(e.why.empty()) << code_text(e.code);
    if (!e.is_file) continue;
    EXPECT_EQ(codes_of(e.wrong), std::set<std::string>{code_text(e.code)}) << e.wrong.str();
    EXPECT_EQ(codes_of(e.right), std::set<std::string>{}) << e.right.str();
  }
}

TEST(Explanations, AreFoundByCodeNumberAndName) {
  for (const char* word : {"E0213", "e0213", "0213", "213", "shape_mismatch"}) {
    const Explanation* e = find_explanation(word);
    ASSERT_TRUE(e) << word;
    EXPECT_EQ(e->code, Code::shape_mismatch);
  }
  for (const char* word : {"", "E", "E9999", "shapes"})
    EXPECT_FALSE(find_explanation(word)) << word;
}

} // namespace
} // namespace tg
