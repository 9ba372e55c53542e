// Tests operators that files define, inside rules: how a call is expanded.
#include "compiler/rules/text.h"
#include "tests/unit/rules/rule_fixture.h"

namespace tg::test {
namespace {

constexpr const char* kOps = R"(
op gelu2(x: T[S...]) -> T[S...] = 0.5 * x * (1 + erf(x / sqrt(2)))
op centred(x: T[N, D], axis: int = -1) -> T[N, D] = x - reduce_mean(x, axes = [axis], keepdims = true)
op per_row(x: T[N, D], by: float) -> T[N, D] = (x + by * N) ** 2
op both(x: T[S...], y: T[S...]) -> T[S...] = gelu2(x) + softmax(y)
extern op fft(x: T[S...], by: i64[N]) -> T[S...]
)";

std::vector<std::string> texts(const std::string& rule) {
  std::vector<std::string> all;
  for (const Rule& r : rules_of(kOps + rule + "\n")) all.push_back(rule_text(r));
  return all;
}

TEST(RuleOps, ElementByElementIsOneNode) {
  EXPECT_EQ(texts("rule r(x) { gelu2(x) => gelu(x) }")[0],
            "r: fused_map([0.5, x, 1.0, 1.4142135623730951], body = \"mul(mul($0, $1), add($2, "
            "erf(div($1, $3))))\") => gelu(x)");
}

TEST(RuleOps, OtherDefinitionsStandInTheirPlace) {
  EXPECT_EQ(texts("rule r(x) { centred(x) => x }")[0],
            "r: sub(x, reduce_mean(x, axes = axes, keepdims = true)) => x where axes == [rank(x) - "
            "1]");
  EXPECT_EQ(texts("rule r(x) { relu(x) => centred(x, axis = 0) }")[0],
            "r: relu(x) => sub(x, reduce_mean(x, axes = [0], keepdims = true))");
}

TEST(RuleOps, DimensionsAndPowersAreSpelledOut) {
  EXPECT_EQ(texts("rule r(x) { relu(x) => per_row(x, 0.5) }")[0],
            "r: relu(x) => mul(add(x, 0.5 * dim(x, 0)), add(x, 0.5 * dim(x, 0)))");
}

TEST(RuleOps, UnfoldAsksForTheDefinition) {
  std::vector<std::string> both = texts("rule r(x) { gelu2(x) <=> unfold(gelu2(x)) }");
  ASSERT_GE(both.size(), 2u);
  EXPECT_NE(both[0].find("=> mul(mul(0.5, x), add(1.0, erf(div(x, 1.4142135623730951))))"),
            std::string::npos)
      << both[0];
  EXPECT_EQ(both[1].find("r-rev"), 0u) << both[1];
}

TEST(RuleOps, DefinitionsMayCallOthers) {
  EXPECT_EQ(texts("rule r(x) { relu(x) => both(x, x) }")[0],
            "r: relu(x) => add(fused_map([0.5, x, 1.0, 1.4142135623730951], body = "
            "\"mul(mul($0, $1), add($2, erf(div($1, $3))))\"), softmax(x))");
}

TEST(RuleOps, OperatorsOfOtherLibrariesAreNodes) {
  EXPECT_EQ(texts("rule r(x, n) { fft(relu(x), n) => fft(x, n) }")[0],
            "r: fft(relu(x), n) => fft(x, n)");
  Rule rule = rules_of(std::string(kOps) + "rule r(x, n) { fft(relu(x), n) => fft(x, n) }\n")[0];
  const Term& root = rule.terms[rule.lhs[0]];
  EXPECT_EQ(root.op, OpKind::Extern);
  EXPECT_EQ(root.attrs[1].literal.text, "(T[S...], i64[N]) -> T[S...]");
}

/// Each operator is twice as large as the one before, so that the expansion is refused.
TEST(RuleOps, RefuseExponentialExpansion) {
  std::string text = "op d0(x: T[S...]) -> T[S...] = x + softmax(x)\n";
  for (int i = 1; i <= 30; ++i)
    text += "op d" + std::to_string(i) + "(x: T[S...]) -> T[S...] = d" + std::to_string(i - 1) +
            "(x) + d" + std::to_string(i - 1) + "(softmax(x))\n";
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("test.tg", text + "rule r(x) { relu(x) => d30(x) }\n");
  EXPECT_TRUE(rules_from_ast(parse(sources, file, sink), sources, sink).empty());
  ASSERT_EQ(sink.errors(), 1u);
  EXPECT_EQ(sink.all()[0].code, Code::rule_pattern);
}

} // namespace
} // namespace tg::test
