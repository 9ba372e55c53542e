#include "compiler/verify/counterexample/narrow.h"

#include "compiler/verify/equivalent.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// A chain of blocks act(x @ w). The block `wrong`, if any, multiplies by w twice.
Graph chain(int blocks, int wrong) {
  Graph graph(std::make_shared<Symbols>(), "chain");
  ValueId relu = graph.symbols().value(Value::of_enum("relu"));
  ValueId plain = graph.symbols().value(Value::of_enum("none"));
  NodeId x = graph.input("x", f32({6, 8})), none = graph.none();
  for (int i = 0; i < blocks; ++i) {
    NodeId w = graph.weight("w" + std::to_string(i), f32({8, 8}));
    if (i == wrong) x = graph.add(OpKind::Matmul, {plain}, {x, w, none, none});
    x = graph.add(OpKind::Matmul, {relu}, {x, w, none, none});
  }
  graph.add_output("y", x);
  return graph;
}

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Narrow, ShowsTheBlockThatIsWrongAlone) {
  Result<Equivalence> result = check_equivalence(chain(12, -1), chain(12, 5), {});
  ASSERT_TRUE(result);
  ASSERT_FALSE(result->equal());
  ASSERT_TRUE(result->part);
  const std::string& models = result->part->models;
  // relu(v @ w) and relu(v @ w @ w), with all sizes one.
  EXPECT_NE(models.find("weight(\"w5\")"), std::string::npos) << models;
  EXPECT_EQ(models.find("weight(\"w4\")"), std::string::npos) << models;
  EXPECT_EQ(models.find("weight(\"w6\")"), std::string::npos) << models;
  EXPECT_NE(models.find("f32[1, 1]"), std::string::npos) << models;
  EXPECT_LE(lines(models), 12u) << models;
  EXPECT_TRUE(result->part->counterexample.complete);
  EXPECT_LE(result->part->counterexample.elements.size(), 2u);
}

TEST(Narrow, SaysNothingOfModelsThatAreSmall) {
  Graph graphs[2] = {Graph(std::make_shared<Symbols>(), "a"),
                     Graph(std::make_shared<Symbols>(), "b")};
  for (Graph& graph : graphs) {
    NodeId x = graph.input("x", f32({})), y = graph.input("y", f32({}));
    if (graph.name() == "b") std::swap(x, y);
    graph.add_output("z", graph.add(OpKind::Sub, {}, {x, y}));
  }
  Result<Equivalence> result = check_equivalence(graphs[0], graphs[1], {});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->equal());
  EXPECT_FALSE(result->part);
}

/// Shrinking finds the smallest sizes at which a condition holds, through a reshape.
TEST(Narrow, ShrinksEveryShapeThatCanBe) {
  Joined pair{Graph(std::make_shared<Symbols>(), "pair"), {}, {}, {"y"}};
  Graph& graph = pair.graph;
  NodeId x = graph.input("x", f32({16, 24}));
  ValueId shape = graph.symbols().value(Value::of_ints({16, 4, 6}));
  NodeId y = graph.add(OpKind::Reshape, {shape}, {x});
  pair.a = {graph.add(OpKind::Relu, {}, {y})};
  pair.b = {graph.add(OpKind::Neg, {}, {y})};
  size_t asked = 0;
  Joined small = shrink(
      std::move(pair),
      [&](const Joined& tried) {
        ++asked;
        return tried.graph.type(tried.graph.inputs()[0]).elements() >= 2;
      },
      100);
  EXPECT_EQ(small.graph.type(small.graph.inputs()[0]).elements(), 2);
  EXPECT_EQ(small.graph.type(small.a[0]).elements(), 2);
  EXPECT_LE(asked, 100u);
}

/// A width is heads times head size, so that no size can shrink without its products.
TEST(Narrow, ShrinksProductsOfSizesTogether) {
  Joined pair{Graph(std::make_shared<Symbols>(), "pair"), {}, {}, {"y"}};
  Graph& graph = pair.graph;
  NodeId x = graph.input("x", f32({5, 12})), v = graph.input("v", f32({5, 3, 4}));
  ValueId shape = graph.symbols().value(Value::of_ints({5, 3, 4}));
  NodeId y = graph.add(OpKind::Reshape, {shape}, {x});
  pair.a = {graph.add(OpKind::Add, {}, {y, v})};
  pair.b = {graph.add(OpKind::Sub, {}, {y, v})};
  auto full_rank = [](const Joined& tried) {
    return tried.graph.type(tried.graph.inputs()[1]).elements() ==
           tried.graph.type(tried.graph.inputs()[0]).elements();
  };
  Joined small = shrink(std::move(pair), full_rank, 100);
  for (NodeId input : small.graph.inputs()) EXPECT_EQ(small.graph.type(input).elements(), 1);
}

} // namespace
} // namespace tg
