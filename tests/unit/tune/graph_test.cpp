// Tests trees by brute force and against each other, and graphs of network operators,
// whose numbers of bridges and pairs are published.
#include "runtime/tune/pairs/selection.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/workloads.h"

#include <llvm/ADT/STLExtras.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace tg::tune {
namespace {

/// Returns true if the arcs are a tree from the root that reaches the terminals.
bool is_tree_to(const ArcGraph& graph, const Tree& tree, llvm::ArrayRef<size_t> terminals) {
  std::vector<size_t> reached = breadth_first(graph, tree);
  // The number of arcs equals the number of reached nodes, and all arcs are used,
  // so no node has two.
  if (reached.size() != tree.size()) return false;
  return llvm::all_of(terminals, [&](size_t node) { return llvm::is_contained(reached, node); });
}

/// A random graph. The root has an arc to every node, so that every node is reachable.
ArcGraph random_graph(RandomDraws& random, size_t nodes, int64_t percent) {
  ArcGraph graph{nodes, {}};
  for (size_t to = 1; to < nodes; ++to) {
    graph.arcs.push_back({0, to, static_cast<double>(random.in(20, 40))});
    for (size_t from = 1; from < nodes; ++from)
      if (from != to && random.in(1, 100) <= percent)
        graph.arcs.push_back({from, to, static_cast<double>(random.in(0, 30))});
  }
  return graph;
}

/// Returns the least weight over all choices of one arc into each node.
double cheapest_of_all(const ArcGraph& graph, const std::vector<size_t>& nodes) {
  std::vector<std::vector<size_t>> into(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t arc = 0; arc < graph.arcs.size(); ++arc)
      if (graph.arcs[arc].to == nodes[i]) into[i].push_back(arc);
  double least = std::numeric_limits<double>::infinity();
  std::vector<size_t> at(nodes.size(), 0);
  for (;;) {
    Tree tree;
    for (size_t i = 0; i < nodes.size(); ++i) tree.push_back(into[i][at[i]]);
    if (weight_of(graph, tree) < least && is_tree_to(graph, tree, nodes))
      least = weight_of(graph, tree);
    size_t i = 0;
    while (i < at.size() && ++at[i] == into[i].size()) at[i++] = 0;
    if (i == at.size()) return least;
  }
}

std::vector<size_t> first_nodes(size_t count) {
  std::vector<size_t> all;
  for (size_t node = 1; node <= count; ++node) all.push_back(node);
  return all;
}

TEST(Arborescence, IsTheCheapestOfAll) {
  RandomDraws random(1);
  for (int i = 0; i < 300; ++i) {
    ArcGraph graph = random_graph(random, static_cast<size_t>(random.in(2, 6)), 70);
    std::optional<Tree> tree = arborescence(graph);
    ASSERT_TRUE(tree);
    EXPECT_TRUE(is_tree_to(graph, *tree, first_nodes(graph.nodes - 1)));
    EXPECT_EQ(weight_of(graph, *tree), cheapest_of_all(graph, first_nodes(graph.nodes - 1)));
  }
}

TEST(Arborescence, NestedCyclesAreOpened) {
  ArcGraph graph{5,
                 {{0, 1, 100},
                  {1, 2, 1},
                  {2, 1, 1},
                  {2, 3, 2},
                  {3, 1, 1.5},
                  {3, 4, 1},
                  {4, 3, 1},
                  {4, 2, 3},
                  {0, 4, 90}}};
  std::optional<Tree> tree = arborescence(graph);
  ASSERT_TRUE(tree);
  EXPECT_EQ(weight_of(graph, *tree), cheapest_of_all(graph, first_nodes(4)));
}

TEST(Arborescence, UnreachableNodesAreSaid) {
  EXPECT_FALSE(arborescence({3, {{0, 1, 1}}}));
  EXPECT_FALSE(arborescence({3, {{1, 2, 1}, {2, 1, 1}}}));
  EXPECT_TRUE(arborescence({1, {}}));
  EXPECT_FALSE(greedy_steiner_tree({3, {{0, 1, 1}}}, {1, 2}));
  EXPECT_FALSE(exact_steiner_tree({3, {{0, 1, 1}}}, {1, 2}));
  EXPECT_TRUE(greedy_steiner_tree({3, {{0, 1, 1}}}, {1}));
}

TEST(Steiner, ExactIsTheBestOverAllSetsOfOptionalNodes) {
  RandomDraws random(2);
  for (int i = 0; i < 60; ++i) {
    ArcGraph graph = random_graph(random, 6, 60);
    std::vector<size_t> terminals = {1, 2, 3};
    double least = std::numeric_limits<double>::infinity();
    for (std::vector<size_t> optional : std::vector<std::vector<size_t>>{{}, {4}, {5}, {4, 5}}) {
      std::vector<size_t> nodes = terminals;
      nodes.insert(nodes.end(), optional.begin(), optional.end());
      least = std::min(least, cheapest_of_all(graph, nodes));
    }
    std::optional<Tree> exact = exact_steiner_tree(graph, terminals);
    ASSERT_TRUE(exact);
    EXPECT_TRUE(is_tree_to(graph, *exact, terminals));
    EXPECT_EQ(weight_of(graph, *exact), least);
  }
}

TEST(Steiner, GreedyIsNearExact) {
  RandomDraws random(3);
  double greedy_sum = 0, exact_sum = 0;
  for (int i = 0; i < 200; ++i) {
    ArcGraph graph = random_graph(random, static_cast<size_t>(random.in(4, 24)), 30);
    std::vector<size_t> terminals =
        first_nodes(std::min<size_t>(graph.nodes - 1, static_cast<size_t>(random.in(2, 8))));
    std::optional<Tree> greedy = greedy_steiner_tree(graph, terminals);
    std::optional<Tree> exact = exact_steiner_tree(graph, terminals);
    ASSERT_TRUE(greedy && exact);
    EXPECT_TRUE(is_tree_to(graph, *greedy, terminals));
    double cost = weight_of(graph, *greedy), least = weight_of(graph, *exact);
    EXPECT_GE(cost, least);
    EXPECT_LE(cost, least * static_cast<double>(terminals.size())); // its proven bound
    greedy_sum += cost;
    exact_sum += least;
  }
  EXPECT_LE(greedy_sum, 1.1 * exact_sum); // its usual result
}

TEST(Steiner, OptionalNodesAreUsedWhereTheyPay) {
  // Two terminals behind node 3, which is optional.
  ArcGraph graph{4, {{0, 1, 100}, {0, 2, 100}, {0, 3, 100}, {3, 1, 10}, {3, 2, 10}}};
  for (auto* solve : {greedy_steiner_tree, exact_steiner_tree}) {
    std::optional<Tree> tree = solve(graph, {1, 2});
    ASSERT_TRUE(tree);
    EXPECT_EQ(*tree, (Tree{2, 3, 4}));
  }
}

SelectionOptions hops(int count) {
  SelectionOptions options;
  options.hops = count;
  options.estimate.samples = 1; // counts do not depend on it
  return options;
}

TEST(Bridges, AreAsManyAsPublished) {
  constexpr int kAll = 16;
  EXPECT_EQ(bridges(resnet50().operators, 1).size(), 44u);
  EXPECT_EQ(bridges(resnet50().operators, kAll).size(), 49u);
  EXPECT_EQ(bridges(mobilenet_convolutions().operators, 1).size(), 70u);
  EXPECT_EQ(bridges(mobilenet_convolutions().operators, kAll).size(), 110u);
  EXPECT_EQ(bridges(mobilenet_depthwise().operators, 1).size(), 11u);
  EXPECT_EQ(bridges(mobilenet_depthwise().operators, kAll).size(), 11u);
  EXPECT_EQ(bridges(bert_base().operators, 1).size(), 3u);
}

// Not in the paper: grouped transposed convolutions, whose filters are divided like those of GRP.
TEST(Bridges, TransposedConvolutionsMayBeInGroups) {
  auto op = [](const char* text) {
    Result<Operator> read = read_operator(text);
    EXPECT_TRUE(read.ok()) << text;
    EXPECT_EQ(tune::text(*read), text);
    return *read;
  };
  Operator a = op("T2D [1, 64, 32, 32 | 16, 2, 2] stride 2, 2 groups 4");
  Operator b = op("T2D [1, 64, 16, 16 | 8, 2, 2] stride 2, 2 groups 8");
  Operator plain = op("T2D [1, 16, 16, 16 | 8, 2, 2] stride 2, 2");
  EXPECT_EQ(comparable_loops(a), (Extents{1, 4, 16, 32, 32, 16, 2, 2}));
  EXPECT_EQ(comparable_loops(plain), (Extents{1, 1, 16, 16, 16, 8, 2, 2}));
  EXPECT_FALSE(can_reuse(a, b));
  EXPECT_TRUE(can_reuse(a, plain));
  std::optional<Operator> bridge = bridge_of(a, b);
  ASSERT_TRUE(bridge);
  EXPECT_EQ(text(*bridge), "T2D [1, 32, 16, 16 | 8, 2, 2] groups 4");
  EXPECT_TRUE(can_reuse(a, *bridge));
  EXPECT_TRUE(can_reuse(b, *bridge));
  // A block has whole groups, and the inputs of each.
  EXPECT_EQ(nest_of(a).block_step[1], 16);
  Extents covered = {1, 32, 1, 1, 16, 1, 1};
  EXPECT_EQ(product(box_of(nest_of(a).inputs[0], covered)), 2 * 16);
  EXPECT_FALSE(read_operator("T2D [1, 10, 4, 4 | 3, 2, 2] groups 4").ok());
}

TEST(OperatorGraph, HasAsManyPairsAsPublished) {
  EXPECT_EQ(operator_graph(bert_base().operators, hops(0)).reuse_pairs(), 4u);
  EXPECT_EQ(operator_graph(bert_base().operators, hops(1)).reuse_pairs(), 24u);
  OperatorGraph depthwise = operator_graph(mobilenet_depthwise().operators, hops(1));
  EXPECT_EQ(depthwise.graph.nodes, 22u);
  EXPECT_EQ(depthwise.graph.arcs.size(), 237u);
}

TEST(Plan, IsCheaperWithBridgesAndOrdersReuse) {
  for (const Workload& workload : {bert_base(), mobilenet_depthwise()}) {
    SelectionOptions plain, with_bridges;
    plain.hops = 0;
    OperatorGraph without = operator_graph(workload.operators, plain);
    OperatorGraph with = operator_graph(workload.operators, with_bridges);
    double full = plan_reuse(without, Selection::Full).expected;
    double tree = plan_reuse(without, Selection::Arborescence).expected;
    double greedy = plan_reuse(with, Selection::Greedy).expected;
    double exact = plan_reuse(with, Selection::Exact).expected;
    EXPECT_EQ(full, 1000.0 * static_cast<double>(workload.operators.size()));
    EXPECT_LT(tree, full);
    EXPECT_LT(greedy, tree);
    EXPECT_LE(exact, greedy);
    EXPECT_LE(greedy, 1.2 * exact);
    std::set<size_t> tuned;
    for (const TuneStep& step : plan_reuse(with, Selection::Greedy).steps) {
      EXPECT_TRUE(!step.reused || tuned.count(*step.reused));
      EXPECT_TRUE(!step.reused || can_reuse(with.operators[step.op], with.operators[*step.reused]));
      tuned.insert(step.op);
    }
    for (size_t op = 0; op < workload.operators.size(); ++op) EXPECT_TRUE(tuned.count(op));
  }
}

TEST(Plan, ExpectedTrialsAreNearThePublishedOnes) {
  // With other samples: 5000 trials, 3190.8 without bridges, 1555.2 with them.
  SelectionOptions plain, with_bridges;
  plain.hops = 0;
  OperatorGraph without = operator_graph(bert_base().operators, plain);
  OperatorGraph with = operator_graph(bert_base().operators, with_bridges);
  EXPECT_NEAR(plan_reuse(without, Selection::Arborescence).expected, 3190.8, 60);
  EXPECT_NEAR(plan_reuse(with, Selection::Exact).expected, 1555.2, 80);
}

TEST(Plan, CountsOccurrencesOnRequest) {
  Workload bert = bert_base();
  SelectionOptions options;
  options.occurrences = bert.occurrences;
  ReusePlan plain = plan_reuse(operator_graph(bert.operators, options), Selection::Greedy);
  options.occurrence_weight = 2; // nearly all work is in the projections
  ReusePlan weighted = plan_reuse(operator_graph(bert.operators, options), Selection::Greedy);
  auto full = [](const ReusePlan& plan) {
    return std::count_if(plan.steps.begin(), plan.steps.end(),
                         [](const TuneStep& step) { return !step.reused; });
  };
  EXPECT_LT(full(plain), full(weighted));
}

TEST(Estimate, SamplesComeNearTheMeanOfAll) {
  Workload depthwise = mobilenet_depthwise();
  const Operator &a = depthwise.operators[6], &b = depthwise.operators[7];
  ASSERT_TRUE(can_reuse(a, b));
  EstimateOptions many, all;
  many.samples = 4000;
  all.samples = 0;
  for (auto [target, reused] : {std::pair(a, b), std::pair(b, a)}) {
    double exact = expected_trials(target, reused, all);
    EXPECT_NEAR(expected_trials(target, reused, many) / exact, 1, 0.05);
    EXPECT_NEAR(expected_trials(target, reused) / exact, 1, 0.6);
    EXPECT_EQ(expected_trials(target, reused), expected_trials(target, reused));
  }
}

} // namespace
} // namespace tg::tune
