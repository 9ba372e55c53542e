// Tests that a counterexample that the verification of a rule prints is a file that demonstrates
// it.
#include "compiler/api/files/model.h"
#include "compiler/rules/from_ast.h"
#include "compiler/verify/verify_rule.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

const char* const kWrong[] = {
    "rule r(x, y) { x - y => y - x }",
    "rule r(x, w) { matmul(relu(x), w) => relu(matmul(x, w)) }",
    "rule r(x) { avg_pool2d(x, count_padding = false, ..) => avg_pool2d(x, count_padding = true, "
    "..) }",
    "rule r(x, w, c) { conv2d(x + c, w, pad = same) => conv2d(x, w, pad = same) + c where rank(c) "
    "== 0 }",
    "rule r(x, a, b) { x @ a, x @ b => split(x @ concat([b, a], axis = -1), axis = -1, "
    "sizes = [dim(a, -1), dim(b, -1)]) where shape(a) == shape(b), weight(a) }",
};

std::optional<Graph> model(const std::string& text, const char* name, DiagnosticSink& sink) {
  SourceManager sources;
  FileId file = sources.add("counterexample.tg", text);
  std::optional<Graph> graph = load_model(sources, file, {name, {}}, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return graph;
}

TEST(Counterexample, IsAFileOfTwoModelsThatDiffer) {
  for (const char* text : kWrong) {
    SourceManager sources;
    DiagnosticSink sink;
    FileId file = sources.add("wrong.tg", std::string(text) + "\n");
    std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
    ASSERT_FALSE(rules.empty()) << text;
    RuleVerdict verdict = verify_rule(rules[0]);
    ASSERT_EQ(verdict.status, RuleVerdict::Status::Refuted) << text;
    std::optional<Graph> left = model(verdict.counterexample, "left", sink);
    std::optional<Graph> right = model(verdict.counterexample, "right", sink);
    ASSERT_TRUE(left && right) << verdict.counterexample;
    Result<Equivalence> result = check_equivalence(*left, *right, {});
    ASSERT_TRUE(result) << result.error().message << verdict.counterexample;
    EXPECT_FALSE(result->equal()) << verdict.counterexample;
  }
}

} // namespace
} // namespace tg
