#include "compiler/egraph/egraph.h"

#include "compiler/egraph/cycle.h"
#include "egraph_fixture.h"

namespace tg {
namespace {

using test::Builder;

class EGraphTest : public ::testing::Test {
protected:
  std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>();
  EGraph egraph{symbols};

  ClassId input(llvm::StringRef name, std::initializer_list<int64_t> shape = {4}) {
    return add_node(
        egraph, OpKind::Input,
        {symbols->value(Value::of_string(name)), symbols->value(Value::of_type(f32(shape)))}, {});
  }
  ClassId weight(llvm::StringRef name, std::initializer_list<int64_t> shape = {4}) {
    return add_node(egraph, OpKind::Weight,
                    {symbols->value(Value::of_string(name)),
                     symbols->value(Value::of_type(f32(shape))),
                     symbols->value(Value::of_string(""))},
                    {});
  }
  ClassId relu(ClassId x) { return add_node(egraph, OpKind::Relu, {}, {x}); }
  ClassId add(ClassId x, ClassId y) { return add_node(egraph, OpKind::Add, {}, {x, y}); }
};

TEST_F(EGraphTest, EqualNodesAreOne) {
  ClassId x = input("x");
  EXPECT_EQ(relu(x), relu(x));
  EXPECT_EQ(node_count(egraph), 2u);
}

TEST_F(EGraphTest, IllTypedNodesNeverExist) {
  ClassId x = input("x", {4}), y = input("y", {3});
  EXPECT_FALSE(add(x, y).valid());
  EXPECT_EQ(node_count(egraph), 2u);
  EXPECT_EQ(verify(egraph), "");
}

TEST_F(EGraphTest, AttributesAreBroughtIntoNormalForm) {
  ClassId x = input("x", {2, 4});
  ClassId a = add_node(egraph, OpKind::Softmax, {symbols->value(Value::of_int(-1))}, {x});
  ClassId b = add_node(egraph, OpKind::Softmax, {symbols->value(Value::of_int(1))}, {x});
  EXPECT_EQ(a, b);
}

TEST_F(EGraphTest, ClassesOfTwoTypesDoNotMerge) {
  ClassId x = input("x", {4}), y = input("y", {3});
  EXPECT_FALSE(egraph.merge(x, y, {}));
  EXPECT_FALSE(egraph.find(x) == egraph.find(y));
}

TEST_F(EGraphTest, CongruenceGoesUp) {
  ClassId x = input("x"), y = input("y");
  ClassId fx = relu(relu(x)), fy = relu(relu(y));
  EXPECT_TRUE(egraph.merge(x, y, {}));
  EXPECT_FALSE(egraph.clean());
  egraph.rebuild();
  EXPECT_EQ(egraph.find(fx), egraph.find(fy));
  EXPECT_EQ(node_count(egraph), 4u); // x, y, relu, relu
  EXPECT_EQ(verify(egraph), "");
}

TEST_F(EGraphTest, AnEqualNodeGoesStraightIntoTheClass) {
  ClassId x = input("x");
  ClassId sum = add(x, x);
  Typing typing = type_of(egraph, OpKind::Mul, symbols->no_attrs(), {x, x});
  EXPECT_TRUE(egraph.add_equal(sum, OpKind::Mul, typing, {x, x}, {3, {1}}));
  EXPECT_FALSE(egraph.add_equal(sum, OpKind::Mul, typing, {x, x}, {3, {1}}));
  EXPECT_EQ(egraph.class_bound(), 2u);
  ENodeId made = egraph.lookup(OpKind::Mul, symbols->no_attrs(), {x, x});
  EXPECT_EQ(egraph.node(made).rule, 3u);
  EXPECT_EQ(egraph.node(made).origin, ENodeId{1});
}

TEST_F(EGraphTest, WeightOnlyIsAFactOfAClassIfAnyMemberIs) {
  ClassId x = input("x"), w = weight("w");
  ClassId top = relu(add(x, w));
  EXPECT_FALSE(class_at(egraph, top).weight_only());
  EXPECT_TRUE(class_at(egraph, relu(w)).weight_only());
  egraph.merge(x, w, {}); // as if x were known at load
  egraph.rebuild();
  EXPECT_TRUE(class_at(egraph, top).weight_only());
  EXPECT_EQ(verify(egraph), "");
}

TEST_F(EGraphTest, ARisenFlagCountsAsAChangeOfTheUsers) {
  ClassId x = input("x"), w = weight("w");
  ClassId user = relu(x);
  (void)relu(relu(user));
  uint32_t mark = egraph.change_mark();
  egraph.merge(x, w, {});
  egraph.rebuild();
  ENodeId node = egraph.lookup(OpKind::Relu, symbols->no_attrs(), {x});
  EXPECT_GE(egraph.node(node).stamp, mark);
}

TEST_F(EGraphTest, MergingEqualNodesKeepsTheOlderOneAndItsFlag) {
  ClassId x = input("x"), y = input("y");
  relu(x);
  relu(y);
  ENodeId older = egraph.lookup(OpKind::Relu, symbols->no_attrs(), {x});
  ENodeId younger = egraph.lookup(OpKind::Relu, symbols->no_attrs(), {y});
  egraph.filter(younger);
  egraph.merge(x, y, {});
  egraph.rebuild();
  EXPECT_TRUE(egraph.node(older).alive());
  EXPECT_FALSE(egraph.node(older).filtered());
  EXPECT_FALSE(egraph.node(younger).alive());
  EXPECT_EQ(filtered_count(egraph), 0u);
}

TEST_F(EGraphTest, AnythingIsRedoneOnlyFromWhereItCame) {
  ClassId x = input("x");
  Checkpoint start = egraph.checkpoint();
  relu(x);
  Delta delta = egraph.take_back(start);
  add(x, x);
  EXPECT_FALSE(egraph.redo(delta));
  egraph.rollback(start);
  EXPECT_TRUE(egraph.redo(delta));
  EXPECT_FALSE(egraph.redo(delta)); // the state differs now
  EXPECT_EQ(node_count(egraph), 2u);
}

TEST_F(EGraphTest, DeltasOfAPathAreRedoneOneAfterTheOther) {
  ClassId x = input("x"), y = input("y");
  Checkpoint root = egraph.checkpoint();
  ClassId f = relu(x);
  Checkpoint middle = egraph.checkpoint();
  egraph.merge(f, y, {});
  egraph.rebuild();
  EGraph leaf(egraph);
  Delta second = egraph.take_back(middle), first = egraph.take_back(root);
  EXPECT_EQ(node_count(egraph), 2u);
  ASSERT_TRUE(egraph.redo(first));
  ASSERT_TRUE(egraph.redo(second));
  std::string why;
  EXPECT_TRUE(same_state(egraph, leaf, &why)) << why;
}

TEST(EGraphFromGraph, KeepsOutputsInOrderAndOmitsUnusedNodes) {
  Builder b;
  NodeId x = b.x("x", {2, 4}), w = b.w("w", {4, 4});
  NodeId y = b.matmul(x, w);
  (void)b.op(OpKind::Tanh, {y});
  b.output(y);
  b.output(b.op(OpKind::Relu, {y}));
  b.output(y);
  EGraph egraph = egraph_of(b.graph);
  ASSERT_EQ(egraph.roots().size(), 3u);
  EXPECT_EQ(egraph.roots()[0].name, "y0");
  EXPECT_EQ(egraph.roots()[0].id, egraph.roots()[2].id);
  EXPECT_EQ(node_count(egraph), 5u); // x, w, none, matmul, relu
  EXPECT_EQ(verify(egraph), "");
}

TEST_F(EGraphTest, FiltersTheYoungestNodeOfACycle) {
  ClassId x = input("x"), zero = weight("zero");
  ClassId sum = add(x, zero);
  ClassId top = relu(sum);
  egraph.merge(sum, x, {}); // x + 0 = x
  egraph.rebuild();
  EXPECT_FALSE(acyclic(egraph));
  EXPECT_EQ(Cycles(egraph).break_cycles(), 1u);
  EXPECT_TRUE(acyclic(egraph));
  EXPECT_TRUE(egraph.node(egraph.lookup(OpKind::Add, symbols->no_attrs(), {x, zero})).filtered());
  EXPECT_EQ(Cycles(egraph).break_cycles(), 0u);
  EXPECT_TRUE(canonical(egraph, top));
  EXPECT_EQ(verify(egraph), "");
}

TEST_F(EGraphTest, DescendantsAreFoundInEveryWay) {
  ClassId x = input("x"), deep = x;
  for (int i = 0; i < 100; ++i) deep = i % 2 ? relu(deep) : add(deep, deep);
  ClassId side = relu(input("y"));
  Cycles cycles(egraph);
  EXPECT_EQ(cycles.break_cycles(), 0u);
  EXPECT_TRUE(cycles.descends(deep, x));
  EXPECT_FALSE(cycles.descends(x, deep));
  EXPECT_FALSE(cycles.descends(deep, side));
  EXPECT_TRUE(cycles.reaches(deep, x));
  EXPECT_FALSE(cycles.reaches(side, x));
}

} // namespace
} // namespace tg
