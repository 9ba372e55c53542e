#include "compiler/emit/plan_from_graph.h"
#include "tests/unit/emit/naive_peak.h"
#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

#include <map>

namespace tg {
namespace {

/// A forward and a backward pass: products, an activation of each, which the next product
/// and the backward pass read, and sums in the backward pass, in reverse order.
class RecomputeTest : public testing::Test {
protected:
  static constexpr int kLayers = 8;
  static constexpr int64_t kBytes = 64 * 64 * 4;

  RecomputeTest() {
    NodeId x = graph.input("x", f32({64, 64}));
    std::vector<NodeId> acts;
    for (int i = 0; i < kLayers; ++i) {
      NodeId made = product(x, graph.weight("w" + std::to_string(i), f32({64, 64})));
      products.push_back(made);
      x = add(OpKind::Tanh, {made});
      acts.push_back(x);
    }
    for (int i = kLayers; i-- > 0;) {
      NodeId slope = add(OpKind::Mul, {acts[i], products[i]});
      x = add(OpKind::Add, {product(x, acts[i]), slope});
    }
    graph.add_output("y", x);
    prices.assign(graph.size(), 1);
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (graph.node({i}).op == OpKind::Matmul) prices[i] = 100;
  }

  NodeId add(OpKind op, std::vector<NodeId> operands) {
    return test::add_node(graph, op, operands, {});
  }
  NodeId product(NodeId x, NodeId y) {
    return test::add_node(graph, OpKind::Matmul, {x, y, graph.none(), graph.none()},
                          {Value::of_enum("none")});
  }
  RunOrder schedule(double share) { return recompute(graph, run_nodes(graph), {prices, share}); }

  Graph graph{std::make_shared<Symbols>(), "m"};
  std::vector<NodeId> products;
  std::vector<double> prices;
};

TEST_F(RecomputeTest, WithoutAShareNothingIsRecomputed) {
  RunOrder kept = schedule(0);
  EXPECT_EQ(kept.order, run_nodes(graph));
  EXPECT_EQ(kept.recomputed.operators, 0u);
  EXPECT_EQ(kept.recomputed.peak_bytes, kept.recomputed.peak_kept_bytes);
}

TEST_F(RecomputeTest, ActivationsAreMadeAgainAndProductsKept) {
  RunOrder found = schedule(0.02);
  std::map<OpKind, int> runs;
  for (NodeId id : found.order) ++runs[graph.node(id).op];
  EXPECT_EQ(runs[OpKind::Matmul], 2 * kLayers);
  EXPECT_GT(runs[OpKind::Tanh], kLayers);
  EXPECT_EQ(found.order.size(), run_nodes(graph).size() + found.recomputed.operators);
  // Two results of each layer were live until the backward pass. Now one is.
  EXPECT_GE(found.recomputed.peak_kept_bytes, 2 * kLayers * kBytes);
  EXPECT_LE(found.recomputed.peak_bytes, (kLayers + 4) * kBytes);
  EXPECT_EQ(found.recomputed.peak_bytes, naive_peak(graph, found.order));
  EXPECT_LE(found.recomputed.added_us, 0.02 * found.recomputed.total_us);
}

TEST_F(RecomputeTest, BoundsTheAddedTimeByTheShare) {
  RunOrder little = schedule(0.0015), much = schedule(0.5);
  EXPECT_GT(little.recomputed.operators, 0u);
  EXPECT_LE(little.recomputed.added_us, 0.0015 * little.recomputed.total_us);
  EXPECT_LT(much.recomputed.peak_bytes, little.recomputed.peak_bytes);
}

TEST_F(RecomputeTest, ReadsTheLatestCopy) {
  PlanOfNodes planned = plan_of_nodes(graph, {prices, 0.02});
  EXPECT_EQ(verify(planned.plan), "");
  ASSERT_GT(planned.recomputed.operators, 0u);
  // If a value is computed twice, later steps read the second result.
  std::map<uint32_t, PlanValueId> latest;
  for (PlanStepId s = 0; s < planned.plan.steps.size(); ++s) {
    const PlanStep& step = planned.plan.steps[s];
    llvm::ArrayRef<NodeId> operands = graph.operands(planned.nodes[s]);
    for (size_t i = 0; i < operands.size(); ++i)
      if (auto at = latest.find(operands[i].index); at != latest.end()) {
        EXPECT_EQ(step.operands[i], at->second) << dump(planned.plan);
      }
    latest[planned.nodes[s].index] = step.result;
  }
}

TEST_F(RecomputeTest, OutputsAreNotMadeAgain) {
  for (NodeId id : products) graph.add_output("p" + std::to_string(id.index), id);
  RunOrder found = schedule(0.02);
  for (NodeId id : products) EXPECT_EQ(llvm::count(found.order, id), 1);
}

} // namespace
} // namespace tg
