#include "compiler/ir/evaluate.h"

#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg {
namespace {

class Evaluate : public testing::Test {
protected:
  NodeId add(OpKind op, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    return test::add_node(graph, op, operands, attrs);
  }
  NodeId matmul(NodeId x, NodeId y) {
    return add(OpKind::Matmul, {x, y, graph.none(), graph.none()}, {Value::of_enum("none")});
  }
  Graph graph{std::make_shared<Symbols>()};
};

TEST_F(Evaluate, ProductsAssociate) {
  NodeId x = graph.input("x", f32({3, 4})), y = graph.weight("y", f32({4, 5})),
         z = graph.weight("z", f32({5, 2}));
  graph.add_output("left", matmul(matmul(x, y), z));
  graph.add_output("right", matmul(x, matmul(y, z)));
  auto values = evaluate(graph, random_leaves(1));
  ASSERT_TRUE(values);
  EXPECT_LT(max_rel_diff((*values)[0], (*values)[1]), 1e-14);
  EXPECT_GT(max_rel_diff((*values)[0], NodeValues(6, 1.0)), 0.01);
}

TEST_F(Evaluate, OutputsMayBeLeavesAndOperandsMayBeUsedAfterwards) {
  NodeId c = graph.constant({2}, f32({3})), x = graph.input("x", f32({3}));
  NodeId sum = add(OpKind::Add, {c, x}), product = add(OpKind::Mul, {sum, sum});
  auto leaves = [](const Graph&, NodeId) { return NodeValues{1, 2, 3}; };
  auto values = evaluate(graph, leaves, {c, x, sum, product, x});
  ASSERT_TRUE(values);
  EXPECT_EQ((*values)[0], (NodeValues{2, 2, 2}));
  EXPECT_EQ((*values)[1], (NodeValues{1, 2, 3}));
  EXPECT_EQ((*values)[2], (NodeValues{3, 4, 5}));
  EXPECT_EQ((*values)[3], (NodeValues{9, 16, 25}));
  EXPECT_EQ((*values)[4], (*values)[1]);
}

TEST_F(Evaluate, ALeafOfTheWrongSizeIsNamed) {
  graph.add_output("y", add(OpKind::Neg, {graph.weight("layer.w", f32({3}))}));
  auto values = evaluate(graph, [](const Graph&, NodeId) { return NodeValues(2); });
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().message, "the leaf \"layer.w\" has 2 values where 3 are needed");
}

TEST_F(Evaluate, LeavesDependOnNameAloneAndCanBePositive) {
  NodeId a = graph.weight("var", f32({50})), b = graph.input("x", f32({50}));
  LeafSource leaves = random_leaves(4, [](llvm::StringRef name) { return name == "var"; });
  Graph other(std::make_shared<Symbols>());
  other.input("unrelated", f32({2}));
  EXPECT_EQ(leaves(graph, b), leaves(other, other.input("x", f32({50}))));
  bool negative = false;
  for (double x : leaves(graph, a)) EXPECT_GT(x, 0);
  for (double x : leaves(graph, b)) negative |= x < 0;
  EXPECT_TRUE(negative);
}

TEST(MaxRelDiff, FailsOnNonfiniteValues) {
  double nan = std::nan("");
  EXPECT_EQ(max_rel_diff({1, 2}, {1, 2}), 0);
  EXPECT_EQ(max_rel_diff({1, 2}, {1, 4}), 0.5);
  EXPECT_TRUE(std::isinf(max_rel_diff({nan}, {nan})));
  EXPECT_TRUE(std::isinf(max_rel_diff({1}, {1, 1})));
}

} // namespace
} // namespace tg
