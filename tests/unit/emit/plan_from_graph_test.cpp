#include "compiler/emit/plan_from_graph.h"
#include "lang/core/support/random.h"
#include "tests/unit/emit/naive_peak.h"
#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

class PlanFromGraph : public testing::Test {
protected:
  NodeId add(OpKind op, std::vector<Value> attrs, std::vector<NodeId> operands) {
    return test::add_node(graph, op, operands, attrs);
  }
  NodeId conv(NodeId x, NodeId w, NodeId residual) {
    return add(OpKind::Conv2d,
               {Value::of_int(1), Value::of_enum("same"), Value::of_int(1), Value::of_enum("none")},
               {x, w, graph.none(), residual});
  }
  Plan plan() {
    Plan plan = plan_from_graph(graph);
    EXPECT_EQ(verify(plan), "") << dump(plan);
    return plan;
  }

  Graph graph{std::make_shared<Symbols>(), "m"};
};

TEST_F(PlanFromGraph, WeightSideWorkIsLoadedDeadCodeIsGoneInputsAreKept) {
  NodeId x = graph.input("x", f32({2, 4})), unused = graph.input("unused", f32({3}));
  NodeId a = graph.weight("a", f32({4, 8})), b = graph.weight("b", f32({8, 5}), "zeros");
  NodeId product =
      add(OpKind::Matmul, {Value::of_enum("none")}, {a, b, graph.none(), graph.none()});
  add(OpKind::Relu, {}, {unused}); // dead
  add(OpKind::Neg, {}, {graph.weight("dead", f32({9}))});
  graph.add_output(
      "y", add(OpKind::Matmul, {Value::of_enum("relu")}, {x, product, graph.none(), graph.none()}));
  EXPECT_EQ(dump(plan()), "plan m\n"
                          "%0 = input x : f32[2, 4]\n"
                          "%1 = input unused : f32[3]\n"
                          "%2 = weight a : f32[4, 8]\n"
                          "%3 = weight b : f32[8, 5]\n"
                          "load %4 = matmul(%2, %3, none, none) {act = none} : f32[4, 5]\n"
                          "run %5 = matmul(%0, %4, none, none) {act = relu} : f32[2, 5]\n"
                          "output y = %5\n");
  EXPECT_EQ(plan().values[3].init, "zeros");
}

TEST_F(PlanFromGraph, PointwiseAndResidualsAreInPlaceWhereTheOperandDies) {
  NodeId x = graph.input("x", f32({1, 4, 6, 6})), w = graph.weight("w", f32({4, 4, 3, 3}));
  NodeId r = add(OpKind::Relu, {}, {x});
  NodeId c = conv(r, w, r);                // r is also the input: not in place
  NodeId d = conv(x, w, c);                // c dies here
  NodeId e = add(OpKind::Add, {}, {d, d}); // both operands are d
  NodeId f = add(OpKind::Add, {}, {e, graph.constant({1}, f32({1, 1, 1, 6}))});
  graph.add_output("f", f);
  graph.add_output("again", add(OpKind::Neg, {}, {f})); // f is an output and stays live
  EXPECT_EQ(
      dump(plan()),
      "plan m\n"
      "%0 = input x : f32[1, 4, 6, 6]\n"
      "%1 = weight w : f32[4, 4, 3, 3]\n"
      "%2 = constant [1.0] : f32[1, 1, 1, 6]\n"
      "run %3 = relu(%0) : f32[1, 4, 6, 6]\n"
      "run %4 = conv2d(%3, %1, none, %3) {stride = [1, 1], pad = same, dilation = [1, 1], act "
      "= none} : f32[1, 4, 6, 6]; frees %3\n"
      "run %5 = conv2d(%0, %1, none, %4) {stride = [1, 1], pad = same, dilation = [1, 1], act "
      "= none} : f32[1, 4, 6, 6] in place of %4\n"
      "run %6 = add(%5, %5) : f32[1, 4, 6, 6] in place of %5\n"
      "run %7 = add(%6, %2) : f32[1, 4, 6, 6] in place of %6\n"
      "run %8 = neg(%7) : f32[1, 4, 6, 6]\n"
      "output f = %7\n"
      "output again = %8\n");
}

TEST_F(PlanFromGraph, AnOutputMayBeALeafOrAWeightSideResult) {
  NodeId x = graph.input("x", f32({2})), w = graph.weight("w", f32({2}));
  graph.add_output("x", x);
  graph.add_output("w", w);
  graph.add_output("minus", add(OpKind::Neg, {}, {w}));
  graph.add_output("twice", add(OpKind::Neg, {}, {w}));
  Plan p = plan();
  ASSERT_EQ(p.steps.size(), 1u);
  EXPECT_EQ(p.steps[0].phase, Phase::Load);
  EXPECT_EQ(p.outputs[2].value, p.outputs[3].value);
}

TEST_F(PlanFromGraph, PrefersAnOrderThatHoldsLess) {
  NodeId x = graph.input("x", f32({64}));
  std::vector<NodeId> large, small;
  for (int64_t i = 1; i <= 8; ++i) // the graph's own order computes all the large ones first
    large.push_back(
        add(OpKind::Add, {}, {x, graph.weight("w" + std::to_string(i), f32({64, 64}))}));
  for (NodeId id : large)
    small.push_back(add(OpKind::ReduceSum, {Value::of_ints({0}), Value::of_bool(false)}, {id}));
  graph.add_output("y", add(OpKind::Concat, {Value::of_int(0)}, small));
  constexpr int64_t kLarge = 64 * 64 * 4, kSmall = 64 * 4;
  EXPECT_EQ(naive_peak(graph, run_nodes(graph)), 8 * kLarge + kSmall);
  EXPECT_LE(naive_peak(graph, best_order(graph)), kLarge + 16 * kSmall);
}

/// Adds random pointwise operators, reductions and concats over few sizes.
void grow(Graph& graph, uint64_t seed) {
  RandomStream random(seed, "graph");
  uint64_t draw = 0;
  auto below = [&](size_t n) { return static_cast<size_t>(random.bits(draw++) % n); };
  std::vector<NodeId> nodes;
  for (int i = 0; i < 3; ++i) {
    nodes.push_back(graph.input("x" + std::to_string(i), f32({16, 1 << (2 * i)})));
    nodes.push_back(graph.weight("w" + std::to_string(i), f32({16, 1 << (2 * i)})));
  }
  auto add = [&](OpKind op, std::vector<Value> attrs, std::vector<NodeId> operands) {
    llvm::SmallVector<ValueId, 4> ids;
    for (const Value& value : attrs) ids.push_back(graph.symbols().value(value));
    if (NodeId id = graph.add(op, ids, operands); id.valid()) nodes.push_back(id);
  };
  for (int i = 0; i < 40; ++i) {
    NodeId a = nodes[below(nodes.size())], b = nodes[below(nodes.size())];
    switch (below(4)) {
    case 0: add(OpKind::Add, {}, {a, b}); break;
    case 1: add(OpKind::Tanh, {}, {a}); break;
    case 2: add(OpKind::ReduceSum, {Value::of_int(1), Value::of_bool(true)}, {a}); break;
    default:
      if (graph.type(a)[1] < 256) add(OpKind::Concat, {Value::of_int(1)}, {a, b});
    }
  }
  for (size_t i = 0; i < 1 + below(3); ++i)
    graph.add_output("y" + std::to_string(i), nodes[nodes.size() - 1 - below(10)]);
}

TEST(Order, IsAnOrderAndNeverWorseThanTheGraphsOwn) {
  int better = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Graph graph(std::make_shared<Symbols>(), "random");
    grow(graph, seed);
    ASSERT_EQ(verify(plan_from_graph(graph)), "") << "seed " << seed << '\n' << dump(graph);
    std::vector<NodeId> natural = run_nodes(graph), order = best_order(graph);
    ASSERT_EQ(order.size(), natural.size());
    EXPECT_LE(naive_peak(graph, order), naive_peak(graph, natural)) << "seed " << seed;
    better += naive_peak(graph, order) < naive_peak(graph, natural);
    EXPECT_EQ(dump(plan_from_graph(graph)), dump(plan_from_graph(graph)));
  }
  EXPECT_GT(better, 0);
}

} // namespace
} // namespace tg
