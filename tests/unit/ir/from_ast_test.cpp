// Tests instantiation: the nodes that each construct of the language becomes.
#include "tests/unit/ir/ir_test.h"

namespace tg {
namespace {

using test::Built;

#define ASSERT_BUILT(b) ASSERT_TRUE((b).graph) << (b).rendered()

TEST(FromAst, OperatorsAndSugarMakeTheSameNodes) {
  Built sugar("model m(x: f32[2, 3], y: f32[2, 3]) { -(x + y) * x / y - x }");
  Built calls("model m(x: f32[2, 3], y: f32[2, 3]) { sub(div(mul(neg(add(x, y)), x), y), x) }");
  ASSERT_BUILT(sugar);
  ASSERT_BUILT(calls);
  EXPECT_EQ(difference(*sugar.graph, *calls.graph), "");
}

TEST(FromAst, EqualExpressionsAreOneNode) {
  Built b("model m(x: f32[4]) { relu(x) + relu(x) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.census(), "1 add, 1 relu");
}

TEST(FromAst, DimensionsAreBoundFromArguments) {
  Built b("fn f(x: f32[N, C], y: f32[C, D]) -> f32[N, D * 2] { concat([x @ y, x @ y], axis = 1) }\n"
          "model m(x: f32[2, 3], y: f32[3, 5]) { f(x, y) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.output_type(), "f32[2, 10]");
}

TEST(FromAst, PrefersTheShapeOfTheArgumentToADefault) {
  Built b("fn f(x: f32[N], N: int = 7) { reshape(x, [N, 1]) }\nmodel m(x: f32[3]) { f(x) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.output_type(), "f32[3, 1]");
  Built wrong("fn f(x: f32[N], N: int = 7) { x }\nmodel m(x: f32[3]) { f(x, N = 4) }");
  EXPECT_EQ(wrong.errors(), "E0216: `N` of `f` is 4 here but 3 in f32[3]\n");
}

TEST(FromAst, SettingsAndDefaultsOfAModel) {
  const char* text = "model m(x: f32[N, D], N: int = 2, D: int = 3 * N, scale: float = 0.5) "
                     "{ scale * x }";
  Built plain(text), set(text, {{"N", Value::of_int(8)}, {"scale", Value::of_int(2)}});
  ASSERT_BUILT(plain);
  ASSERT_BUILT(set);
  EXPECT_EQ(plain.output_type(), "f32[2, 6]");
  EXPECT_EQ(set.output_type(), "f32[8, 24]");
  Built free_dim("model m(x: f32[N, 4]) { x }", {{"N", Value::of_int(5)}});
  ASSERT_BUILT(free_dim);
  EXPECT_EQ(free_dim.output_type(), "f32[5, 4]");
}

TEST(FromAst, SettingsThatDoNotFit) {
  const char* text = "model m(x: f32[N], N: int = 2) { x }";
  EXPECT_EQ(Built(text, {{"M", Value::of_int(8)}}).errors(),
            "E0203: the model `m` has no parameter `M`\n");
  EXPECT_EQ(Built(text, {{"N", Value::of_float(8)}}).errors(),
            "E0206: the parameter `N` must be of kind int, got 8.0\n");
  EXPECT_EQ(Built("model m(x: f32[N]) { x }").errors(), "E0204: the dimension `N` has no value\n");
  EXPECT_EQ(Built("model m(x: f32[2], k: int) { x }").errors(),
            "E0204: the parameter `k` of the model has no value\n");
}

TEST(FromAst, LoopsUnrollOverRangesListsAndTuples) {
  Built b("model m(x: f32[1, 4]) {\n"
          "  var y = x\n"
          "  for i in 0..3 { y = relu(y + i) }\n"
          "  for w in [4, 8] { param v: f32[4, w]\n y = y @ v @ transpose(v) }\n"
          "  for (a, b) in [(1, 2), (3, 4)] { y = y * (a * b) }\n"
          "  y\n}");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.census(), "3 add, 4 matmul, 2 mul, 3 relu, 2 transpose");
  EXPECT_EQ(b.weight_paths(), (std::vector<std::string>{"v[0]", "v[1]"}));
}

TEST(FromAst, ConditionsChooseAtCompileTime) {
  Built b("fn f(x: f32[N, C], n: int) { if n > 1 and C % 2 == 0 { relu(x) } else { tanh(x) } }\n"
          "model m(x: f32[1, 4]) {\n  var y = f(x, 1) + f(x, 2)\n"
          "  if rank(x) == 3 { y = exp(y) } else { y = sqrt(y) }\n  y\n}");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.census(), "1 add, 1 relu, 1 sqrt, 1 tanh");
}

TEST(FromAst, RecursionEndsByCondition) {
  Built b("fn f(x: f32[N], n: int) { if n == 0 { x } else { relu(f(x, n - 1)) } }\n"
          "model m(x: f32[4]) { f(x, 30) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.census(), "30 relu");
}

TEST(FromAst, BoundsEndlessPrograms) {
  Built calls("fn f(x: f32[N]) { f(x) }\nmodel m(x: f32[4]) { f(x) }");
  EXPECT_EQ(calls.errors(), "E0404: calls nest deeper than 100\n");
  Built lists("model m(x: f32[4]) {\n var l = [1]\n for i in 0..100 { l = [l, l] }\n x\n}");
  EXPECT_EQ(lists.errors(), "E0404: a list has too many items\n");
  Built loop("model m(x: f32[4]) {\n for i in 0..1000000000000 { }\n x\n}");
  EXPECT_EQ(loop.errors(), "E0404: this does not end within 10000000 steps\n");
}

/// Calls and expressions nested to the limits together do not overflow the C++ stack.
TEST(FromAst, DeepNestingIsRefusedNotACrash) {
  std::string deep = "x";
  for (int i = 0; i < 60; ++i) deep = "relu(" + deep + ")";
  std::string inner = "if n == 0 { x } else { f(x, n - 1) }";
  for (int i = 0; i < 60; ++i) inner = "(1.0 + " + inner + ")";
  Built b("fn f(x: f32[N], n: int) { " + inner + " }\nmodel m(x: f32[4]) { f(" + deep + ", 99) }");
  EXPECT_EQ(b.errors(), "E0404: calls and expressions nest deeper than 1000\n");
}

TEST(FromAst, WeightPathsFollowTheCalls) {
  Built b("fn attention(x: f32[N, D]) { param wq: f32[D, D]\n x @ wq }\n"
          "fn layer(x: f32[N, D]) { attention(x) + attention(x) as other }\n"
          "fn twice(x: f32[N, D]) { layer(layer(x)) }\n"
          "model bert(x: f32[2, 4]) {\n"
          "  var y = x\n"
          "  for i in 0..2 { y = layer(y) as block }\n"
          "  param head: f32[4, 2] = weight(\"encoder.head\")\n"
          "  twice(y) @ head\n}");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.weight_paths(),
            (std::vector<std::string>{"block[0].attention.wq", "block[0].other.wq",
                                      "block[1].attention.wq", "block[1].other.wq", "encoder.head",
                                      "twice.layer2.attention.wq", "twice.layer2.other.wq",
                                      "twice.layer1.attention.wq", "twice.layer1.other.wq"}));
}

TEST(FromAst, InitialisationIsKept) {
  Built b("model m(x: f32[2, 4]) {\n"
          "  param a: f32[4, 4] (init = normal(1 / sqrt(4)))\n"
          "  param b: f32[4, 4] = weight(\"b\", init = uniform(-1, 1))\n"
          "  param c: f32[4] (init = zeros)\n"
          "  param d: f32[4, 4] (init = orthogonal(0.1 / 4))\n  (x @ a @ b + c) @ d\n}");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.graph->attr({1}, 2).text, "normal(0.5)");
  EXPECT_EQ(b.graph->attr({2}, 2).text, "uniform(-1, 1)");
  EXPECT_EQ(b.graph->attr({3}, 2).text, "zeros");
  EXPECT_EQ(b.graph->attr({4}, 2).text, "orthogonal(0.025)");
}

TEST(FromAst, TuplesSlicesAndSplits) {
  Built b("fn qkv(x: f32[N, D]) { split(x, axis = -1, parts = 3) }\n"
          "model m(x: f32[2, 12]) {\n  let (q, k, v) = qkv(x)\n"
          "  let (a, b) = split(x, 1, sizes = [4, 8])\n"
          "  q + k + v + x[:, 0:4] + x[:, -4:] + a + b[:, 4:8]\n}");
  ASSERT_BUILT(b);
  // x[:, 0:4] and a are equal to q, and x[:, -4:] is v: equal nodes are merged.
  EXPECT_EQ(b.census(), "6 add, 5 slice");
  Built item("model m(x: f32[2, 3, 4]) { x[1, :, 2] + x[-1, 0:3, 2] }");
  ASSERT_BUILT(item);
  EXPECT_EQ(item.output_type(), "f32[3]");
}

TEST(FromAst, Literals) {
  Built b("model m(x: f32[2, 2]) {\n"
          "  x + 1 + [1.5, 2] + [[1, 2], [3, 4]] + zeros([2, 2]) + ones([2]) + full([2, 2], -0.5) "
          "+ eye(2) + iota(2)\n}");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.census(), "8 add");
  std::string constants;
  for (uint32_t i = 0; i < b.graph->size(); ++i)
    if (b.graph->node({i}).op == OpKind::Constant)
      constants += b.graph->attr({i}, 0).text_form() + " ";
  EXPECT_EQ(constants, "[1.0] [1.5, 2.0] [1.0, 2.0, 3.0, 4.0] [0.0] [1.0] [-0.5] "
                       "[1.0, 0.0, 0.0, 1.0] [0.0, 1.0] ");
  EXPECT_EQ(Built("model m(x: f32[2, 2]) { x + [[1, 2], [3]] }").errors(),
            "E0206: [[…], […]] is not a tensor literal\n");
}

TEST(FromAst, OperandsThenAttributesByPositionOrName) {
  const char* head = "model m(x: f32[2, 4], w: f32[4, 4], b: f32[4], r: f32[2, 4]) ";
  const char* forms[] = {
      "{ matmul(x, w, b, r, relu) }",
      "{ matmul(x, w, bias = b, residual = r, act = relu) }",
      "{ matmul(x, w, b, act = relu, residual = r) }",
  };
  Built first(std::string(head) + forms[0]);
  ASSERT_BUILT(first);
  for (const char* form : forms) {
    Built b(std::string(head) + form);
    ASSERT_BUILT(b);
    EXPECT_EQ(difference(*first.graph, *b.graph), "") << form;
  }
  EXPECT_EQ(Built(std::string(head) + "{ matmul(x, w, b, bias = b) }").errors(),
            "E0202: `bias` is given twice\n");
  Built skipped(std::string(head) + "{ matmul(x, w, none, r) }");
  Built named(std::string(head) + "{ matmul(x, w, residual = r) }");
  ASSERT_BUILT(skipped);
  ASSERT_BUILT(named);
  EXPECT_EQ(difference(*skipped.graph, *named.graph), "");
}

TEST(FromAst, OptionalTensorsPassThrough) {
  Built b("fn f(x: f32[N, D], w: f32[D, E], b: f32[E] = none) {\n"
          "  if b == none { matmul(x, w, b) } else { relu(matmul(x, w, b)) }\n}\n"
          "model m(x: f32[2, 4], w: f32[4, 4], b: f32[4]) { f(x, w) + f(x, w, b) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.census(), "1 add, 2 matmul, 1 relu");
}

TEST(FromAst, SeveralNamedResults) {
  Built b("fn f(x: f32[N]) -> (a: f32[N], b: f32[2 * N]) { (relu(x), concat([x, x], axis = 0)) }\n"
          "model m(x: f32[3], unused: f32[1]) -> (first: f32[3], second: f32[6]) { f(x) }");
  ASSERT_BUILT(b);
  ASSERT_EQ(b.graph->outputs().size(), 2u);
  EXPECT_EQ(b.graph->outputs()[0].name, "first");
  EXPECT_EQ(b.output_type(1), "f32[6]");
  EXPECT_EQ(b.graph->inputs().size(), 2u);
}

TEST(FromAst, CompileTimeArithmeticAndLists) {
  Built b("fn f(x: f32[N, C, H, W], kernel: Pair = 3, widths: list[int] = [1, 2]) {\n"
          "  let area = kernel[0] * kernel[1] + len(widths) + max(1, widths[-1]) + sum(shape(x))\n"
          "  reshape(x, [N * C * H * W]) * area\n}\n"
          "model m(x: f32[1, 2, 3, 4]) { f(x, kernel = [3, 5], widths = [7]) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.graph->attr({2}, 0).text_form(), "[33.0]");
}

TEST(FromAst, OneMistakeGivesOneError) {
  Built b("fn f(x: f32[N, D]) { param w: f32[3, 3]\n x @ w }\n"
          "model m(x: f32[2, 4]) {\n  var y = x\n  for i in 0..5 { y = f(y) }\n"
          "  let (a, b) = split(y, axis = 1, parts = 2)\n  relu(a + b)\n}");
  EXPECT_EQ(b.errors(), "E0213: cannot multiply f32[2, 4] by f32[3, 3]\n");
}

TEST(FromAst, ModulesOfTheLibrary) {
  Built b("use std.nn: linear, conv\nmodel m(x: f32[2, 4]) { linear(x, 3) }");
  ASSERT_BUILT(b);
  EXPECT_EQ(b.output_type(), "f32[2, 3]");
  EXPECT_EQ(b.weight_paths(), (std::vector<std::string>{"linear.w", "linear.b"}));
}

TEST(FromAst, CheckLooksIntoEveryFunctionAndModel) {
  SourceManager sources;
  test::TestLoader loader;
  DiagnosticSink sink;
  Program program =
      load_program(sources, loader,
                   sources.add("test.tg", "model a(x: f32[2, 3]) { x @ x }\n"
                                          "model b(x: f32[N, 3]) { x }\n" // checked by name only
                                          "model c(x: f32[2]) { x + ones([3]) }\n"),
                   sink);
  EXPECT_FALSE(check(program, sink));
  EXPECT_EQ(sink.errors(), 2u);
}

TEST(FromAst, SettingsAreRead) {
  EXPECT_EQ(parse_setting("8")->text_form(), "8");
  EXPECT_EQ(parse_setting("0.5")->text_form(), "0.5");
  EXPECT_EQ(parse_setting("true")->text_form(), "true");
  EXPECT_EQ(parse_setting("same")->text_form(), "same");
  EXPECT_EQ(parse_setting("[1, 2]")->text_form(), "[1, 2]");
  EXPECT_EQ(parse_setting("[1, 2.5]")->text_form(), "[1.0, 2.5]");
  for (const char* bad : {"", "x", "[1,", "1 2", "[a]"}) EXPECT_FALSE(parse_setting(bad)) << bad;
}

} // namespace
} // namespace tg
