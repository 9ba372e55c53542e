// Tests that a graph that is written as text and read again is the same graph.
#include "tests/unit/ir/ir_test.h"

namespace tg {
namespace {

using test::Built;

void expect_round_trip(const Graph& graph) {
  std::string text = to_text(graph);
  Built again(text);
  ASSERT_TRUE(again.graph) << again.rendered() << text;
  EXPECT_EQ(difference(graph, *again.graph), "") << text;
  EXPECT_EQ(digest(graph), digest(*again.graph)) << text;
  EXPECT_EQ(graph.name(), again.graph->name());
}

TEST(ToText, EveryExampleComesBack) {
  int models = 0;
  std::vector<std::string> files = test::tg_files("examples");
  for (std::string& file : test::tg_files("examples/paper")) files.push_back(std::move(file));
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    Built names(test::read_source(file), {}, "", TG_SOURCE_DIR "/" + file);
    for (FnRef fn : names.program.models()) {
      Built b(test::read_source(file), {}, names.program.decl(fn).name.text.str(),
              TG_SOURCE_DIR "/" + file);
      ASSERT_TRUE(b.graph) << b.rendered();
      expect_round_trip(*b.graph);
      ++models;
    }
  }
  EXPECT_GE(models, 18);
}

TEST(ToText, ReadsAsWritten) {
  Built b("model small(x: f32[2, 4]) -> (y: f32[2, 4], z: f32[2, 2]) {\n"
          "  param w: f32[4, 4] = weight(\"layer[0].w\", init = normal(0.5))\n"
          "  let h = tanh(x @ w * 2 + x)\n"
          "  (softmax(h), matmul(h, w, act = relu)[:, 0:2])\n}");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(to_text(*b.graph),
            "model small(x: f32[2, 4]) -> (y: f32[2, 4], z: f32[2, 2]) {\n"
            "  param layer_0_w: f32[4, 4] = weight(\"layer[0].w\", init = normal(0.5))\n"
            "  let tanh_1 = tanh(x @ layer_0_w * 2.0 + x)\n"
            "  let softmax_1 = softmax(tanh_1)\n"
            "  let slice_1 = matmul(tanh_1, layer_0_w, act = relu)[:, :2]\n"
            "  (softmax_1, slice_1)\n}\n");
  expect_round_trip(*b.graph);
}

TEST(ToText, SignsStandWhereTheLanguageHasThem) {
  // An expression and its written form, in a model of floats x, y and bools p, q.
  const std::pair<const char*, const char*> cases[] = {
      {"less(x, y)", "x < y"},
      {"less_equal(x, 0.5)", "x <= 0.5"},
      {"greater(1.0, y)", "1.0 > y"},
      {"greater_equal(add(x, y), mul(x, y))", "x + y >= x * y"},
      {"equal(p, true)", "p == true"},
      {"not_equal(less(x, y), p)", "(x < y) != p"},
      {"equal(p, equal(q, p))", "p == (q == p)"},
      {"logical_and(logical_or(p, q), less(x, y))", "(p or q) and x < y"},
      {"logical_or(p, logical_and(q, p))", "p or q and p"},
      {"logical_and(p, logical_and(q, p))", "p and (q and p)"},
      {"logical_not(logical_and(p, q))", "not (p and q)"},
      {"logical_and(logical_not(p), logical_not(less(x, y)))", "not p and not x < y"},
      {"equal(logical_not(p), logical_not(logical_not(q)))", "(not p) == (not (not q))"},
      {"logical_and(p, tensor(true, bool))", "logical_and(p, tensor(true, bool))"},
      {"less(neg(x), sub(y, neg(neg(y))))", "-x < y - -(-y)"},
      {"less(neg(add(x, y)), mul(neg(x), y))", "-(x + y) < -x * y"},
      {"less(mod(x, mod(y, 2.0)), y)", "x % (y % 2.0) < y"},
      {"logical_not(less(x, y))[0:1]", "(not x < y)[:1]"},
  };
  for (auto [expression, written] : cases) {
    SCOPED_TRACE(expression);
    std::string head = "model m(x: f32[2], y: f32[2], p: bool[2], q: bool[2]) {\n  ";
    Built b(head + expression + "\n}");
    ASSERT_TRUE(b.graph) << b.rendered();
    EXPECT_NE(to_text(*b.graph).find(std::string(" = ") + written + "\n"), std::string::npos)
        << to_text(*b.graph);
    expect_round_trip(*b.graph);
  }
}

TEST(ToText, OptionalLiteralsGoByName) {
  Built b(
      "model m(x: f32[1, 2, 4, 4], y: f32[2, 1]) -> (a: f32[1, 1, 4, 4], b: f32[2, 1]) {\n"
      "  param w: f32[1, 2, 1, 1]\n"
      "  param v: f32[1, 1]\n"
      "  (conv2d(x, w, bias = [0.5]), matmul(y, v, bias = [0.25], residual = [[1.0], [2.0]]))\n}");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_NE(to_text(*b.graph).find("conv2d(x, w, bias = [0.5])"), std::string::npos)
      << to_text(*b.graph);
  expect_round_trip(*b.graph);
}

TEST(ToText, LiteralsAmongOperandsOfOtherDtypesSayTheirOwn) {
  Built b("model m(x: f32[2], y: f32[2]) -> (z: f32[2]) {\n"
          "  fused_map([less(x, y), x, tensor(0.25, f32), full([2], 3.0, f32)],\n"
          "            body = \"select($0, mul($1, $2), add($1, $3))\")\n}");
  ASSERT_TRUE(b.graph) << b.rendered();
  expect_round_trip(*b.graph);
}

TEST(ToText, ConstantsOfEveryForm) {
  Built b("model m(x: f32[2, 2]) {\n"
          "  x * 0.1 + [[1e-9, -0.0], [1e20, 3]] + full([2, 2], 0.25) + zeros([1, 2]) + ones([2]) "
          "+ [inf, -inf] + [5]\n}");
  ASSERT_TRUE(b.graph) << b.rendered();
  expect_round_trip(*b.graph);
}

TEST(ToText, OptionalOperandsAndAttributes) {
  Built b("model m(x: f32[1, 4, 9, 9], w: f32[8, 2, 3, 3], b: f32[8], r: f32[1, 8, 5, 5]) {\n"
          "  let full = conv2d(x, w, b, r, stride = 2, pad = 1, act = relu)\n"
          "  let some = conv2d(x, w, residual = r, stride = [2, 2], pad = [1, 1, 1, 1])\n"
          "  let plain = conv2d(x, w, stride = 2, pad = 1)\n"
          "  fused_map(full, some, plain, body = \"tanh(add($0, mul($1, $2)))\")\n}");
  ASSERT_TRUE(b.graph) << b.rendered();
  expect_round_trip(*b.graph);
}

TEST(ToText, NamesThatAreTakenOrNoIdentifiers) {
  Graph g(std::make_shared<Symbols>(), "let");
  NodeId x = g.input("relu", f32({2}));
  NodeId y = g.input("for", f32({2}));
  NodeId w = g.weight("0.weird path/\"quoted\"", f32({2}));
  NodeId v = g.weight("0.weird path/'quoted'", f32({2}));
  NodeId sum =
      g.add(OpKind::Add, {}, {g.add(OpKind::Add, {}, {x, y}), g.add(OpKind::Mul, {}, {w, v})});
  g.add_output("model", sum);
  g.add_output("a.b", x);
  Built again(to_text(g));
  ASSERT_TRUE(again.graph) << again.rendered() << to_text(g);
  EXPECT_EQ(again.weight_paths(),
            (std::vector<std::string>{"0.weird path/\"quoted\"", "0.weird path/'quoted'"}));
  EXPECT_EQ(again.graph->outputs()[1].name, "a_b");
}

TEST(ToText, OperatorsOverNumbersStayOperators) {
  Graph g(std::make_shared<Symbols>(), "m");
  NodeId two = g.constant({2}, f32({})), three = g.constant({3}, f32({}));
  NodeId root = g.add(OpKind::Sqrt, {}, {two});
  g.add_output("output", g.add(OpKind::Add, {}, {root, g.add(OpKind::Mul, {}, {two, three})}));
  expect_round_trip(g);
}

TEST(Difference, DistinguishesGraphs) {
  auto graph = [](const char* text) { return std::move(*Built(text).graph); };
  auto alike = [](const Graph& a, const Graph& b) {
    bool same = difference(a, b).empty();
    EXPECT_EQ(digest(a) == digest(b), same);
    return same;
  };
  Graph a = graph("model m(x: f32[2], y: f32[2]) { relu(x) - y }");
  EXPECT_TRUE(alike(a, graph("model m(x: f32[2], y: f32[2]) { relu(x) - y }")));
  EXPECT_TRUE(alike(a, graph("model m(x: f32[2], y: f32[2]) { let z = tanh(y)\n relu(x) - y }")));
  EXPECT_FALSE(alike(a, graph("model m(x: f32[2], y: f32[2]) { relu(y) - x }")));
  EXPECT_FALSE(alike(a, graph("model m(x: f32[2], y: f32[2]) { tanh(x) - y }")));
  EXPECT_FALSE(alike(a, graph("model m(x: f32[3], y: f32[3]) { relu(x) - y }")));
  EXPECT_FALSE(alike(a, graph("model m(x: f32[2], y: f32[2]) -> (z: f32[2]) { relu(x) - y }")));
  Graph shared = graph("model m(x: f32[2]) { relu(x) * relu(x) }");
  EXPECT_FALSE(alike(shared, graph("model m(x: f32[2]) { relu(x) * relu(relu(x)) }")));
}

} // namespace
} // namespace tg
