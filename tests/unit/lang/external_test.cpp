// Tests the declared types of `extern op`, from the syntax tree to the graph and back to text.
#include "lang/check/composite.h"
#include "lang/core/extern_signature.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

std::string signature_of(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  Ast tree = parse(sources, sources.add("f.tg", text + "\n"), sink);
  EXPECT_FALSE(sink.failed()) << text;
  Result<std::string> signature = extern_signature(tree, tree[tree.decls()[0]]);
  return signature ? *signature : signature.error().message;
}

TEST(External, SizesStandInPostfixOrder) {
  EXPECT_EQ(
      signature_of("extern op f(x: T[N, M, S...], y: i64[_]) -> T[2 * (N + M), S...] where not "
                   "N % 2 == 0, -N < M"),
      "(T[N, M, S...], i64[_]) -> T[2 N M + *, S...] where N 2 % 0 == not, N ~ M <");
}

/// Operators group as the grammar states, and the written text is read as the same expression.
TEST(External, DeclarationsSurviveTheGraph) {
  for (const char* size :
       {"N - M - 1", "N - (M - 1)", "1 + N * M", "-(-N) // M", "(0 - N) // M + 4", "N ** 2 ** M",
        "(N ** 2) ** M", "-N ** 2", "(-N) ** 2", "N * (M % 2)"}) {
    std::string text =
        "extern op f(x0: f32[N, M]) -> f32[" + std::string(size) + "] where N > M or N == 1";
    std::string signature = signature_of(text);
    std::string again = ExternSignature::parse(signature)->declaration("f");
    EXPECT_EQ(signature_of(again), signature) << again;
  }
}

TEST(External, RefusesExpressionsBeyondArithmeticOfSizes) {
  EXPECT_EQ(signature_of("extern op f(x: f32[N]) -> f32[max(N, 2)]"),
            "an `extern op` can only compute with sizes");
  EXPECT_EQ(signature_of("extern op f(x: f32[N]) -> f32[M]"),
            "the type of the result does not follow from the types of the operands");
}

} // namespace
} // namespace tg
