// Tests extraction by prices of groups on an invented device: consecutive pointwise operators
// are one group, and every other operator is its own. The tests check which changes are made,
// which are not, and how many graphs are priced.
#include "compiler/extract/groups/group_refine.h"

#include <gtest/gtest.h>
#include <llvm/ADT/STLExtras.h>

#include <map>

namespace tg {
namespace {

/// Prices by the operator's name; the default is 1.
struct Prices {
  std::map<std::string, double> of;
  double operator()(OpKind op) const {
    auto found = of.find(std::string(op_info(op).name));
    return found == of.end() ? 1 : found->second;
  }
};

struct FixedCost final : CostModel {
  Prices prices;
  std::string name() const override { return "fixed"; }
  double price(const Symbols&, const OpInstance& instance) override { return prices(instance.op); }
};

struct MadeUpGroups final : GroupPricer {
  Prices prices;
  size_t asked = 0;
  double none = 0; // replaces every price, unless it is 0

  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<GroupPrice> found;
    for (const Graph* graph : graphs) found.push_back(one(*graph));
    asked += graphs.size();
    return found;
  }

private:
  static bool pointwise(const Graph& graph, NodeId node) {
    return op_info(graph.node(node).op).has(Trait::Pointwise);
  }
  GroupPrice one(const Graph& graph) const {
    GroupPrice price{none, 0};
    if (none != 0) return price;
    std::vector<bool> needed = graph.reachable();
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node({i});
      if (!needed[i] || node.weight_only || op_info(node.op).has(Trait::Leaf)) continue;
      bool joins = pointwise(graph, {i}) && llvm::any_of(graph.operands({i}), [&](NodeId from) {
                     return pointwise(graph, from);
                   });
      if (joins) continue;
      ++price.groups;
      price.microseconds += prices(node.op);
    }
    return price;
  }
};

constexpr RuleId kRule = 3;

class Refining : public testing::Test {
protected:
  std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>();
  Graph source{symbols, "m"};
  FixedCost model;
  MadeUpGroups groups;

  static llvm::SmallVector<ValueId, 4> values(Symbols& symbols, std::vector<Value> attrs) {
    llvm::SmallVector<ValueId, 4> ids;
    for (const Value& v : attrs) ids.push_back(symbols.value(v));
    return ids;
  }
  NodeId op(OpKind kind, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    std::string why;
    NodeId node = source.add(kind, values(*symbols, std::move(attrs)), operands, &why);
    EXPECT_TRUE(node.valid()) << why;
    return node;
  }
  NodeId transpose(NodeId x) { return op(OpKind::Transpose, {x}, {Value::of_ints({1, 0})}); }
  NodeId matmul(NodeId x, NodeId w) {
    return op(OpKind::Matmul, {x, w, source.none(), source.none()}, {Value::of_enum("none")});
  }
  static ClassId in(const EGraph& egraph, const Graph& graph, NodeId id) {
    llvm::SmallVector<ClassId, 4> children;
    for (NodeId operand : graph.operands(id)) children.push_back(in(egraph, graph, operand));
    return class_of(egraph, egraph.lookup(graph.node(id).op, graph.node(id).attrs, children));
  }
  ClassId add(EGraph& egraph, OpKind kind, std::vector<ClassId> children,
              std::vector<Value> attrs = {}) {
    return add_node(egraph, kind, values(*symbols, std::move(attrs)), children, {kRule, {}});
  }

  /// y = relu(transpose(tanh(x))), repeated. The transpose may also go first.
  EGraph layers(int count) {
    NodeId x = source.input("x", f32({4, 4}));
    std::vector<std::pair<NodeId, NodeId>> places; // the transpose, its input
    for (int i = 0; i < count; ++i) {
      NodeId moved = transpose(op(OpKind::Tanh, {x}));
      places.push_back({moved, x});
      x = op(OpKind::Relu, {moved});
      x = matmul(x, source.weight("w" + std::to_string(i), f32({4, 4})));
    }
    source.add_output("y", x);
    EGraph egraph = egraph_of(source);
    for (auto [moved, from] : places) {
      ClassId first =
          add(egraph, OpKind::Transpose, {in(egraph, source, from)}, {Value::of_ints({1, 0})});
      ClassId other = add(egraph, OpKind::Tanh, {first});
      EXPECT_TRUE(egraph.merge(in(egraph, source, moved), other, {kRule, {}}));
    }
    egraph.rebuild();
    return egraph;
  }

  /// x @ u and x @ v, or halves of x @ [u, v].
  EGraph two_products() {
    NodeId x = source.input("x", f32({4, 8}));
    NodeId u = source.weight("u", f32({8, 8})), v = source.weight("v", f32({8, 8}));
    NodeId a = matmul(x, u), b = matmul(x, v);
    source.add_output("a", a);
    source.add_output("b", b);
    EGraph egraph = egraph_of(source);
    ClassId none = add_node(egraph, OpKind::None, {}, {});
    ClassId both = add(egraph, OpKind::Concat, {in(egraph, source, u), in(egraph, source, v)},
                       {Value::of_int(1)});
    ClassId joined = add(egraph, OpKind::Matmul, {in(egraph, source, x), both, none, none},
                         {Value::of_enum("none")});
    for (int64_t i : {0, 1}) {
      ClassId half = add(egraph, OpKind::Slice, {joined},
                         {Value::of_int(1), Value::of_int(8 * i), Value::of_int(8 * (i + 1))});
      EXPECT_TRUE(egraph.merge(in(egraph, source, i == 0 ? a : b), half, {kRule, {}}));
    }
    egraph.rebuild();
    return egraph;
  }

  std::optional<RefinedGraph> refine(const EGraph& egraph, const Graph& start,
                                     RefineOptions options = {}) {
    PriceCache prices(*symbols, model);
    auto refined = refine_by_groups(egraph, source, start, prices, groups, options);
    if (!refined) return std::nullopt;
    EXPECT_EQ(verify(refined->result.graph), "");
    EXPECT_LE(refined->after.microseconds, refined->before.microseconds);
    EXPECT_EQ(refined->result.cost_us, price_graph(refined->result.graph, prices));
    EXPECT_EQ(groups.price({&refined->result.graph}).front().microseconds,
              refined->after.microseconds);
    return refined;
  }
};

TEST_F(Refining, GroupsDecideWhereOperatorsTie) {
  EGraph egraph = layers(1);
  auto refined = refine(egraph, source);
  ASSERT_TRUE(refined);
  EXPECT_EQ(refined->before.groups, 4u);
  EXPECT_EQ(refined->after.groups, 3u) << dump(refined->result.graph);
  EXPECT_EQ(refined->result.cost_us, 4) << "operators as dear as before";
  EXPECT_EQ(refined->result.rules_used.size(), 1u);
  EXPECT_EQ(refined->moves, 1u);
}

TEST_F(Refining, GroupsDecideWhereOperatorsMislead) {
  EGraph egraph = two_products();
  model.prices.of = {{"matmul", 5}, {"slice", 3}};
  groups.prices.of = {{"matmul", 5}, {"slice", 0.5}};
  PriceCache prices(*symbols, model);
  auto extracted = extract(egraph, source, prices, {});
  ASSERT_TRUE(extracted.ok());
  EXPECT_EQ(extracted->cost_us, 10) << "two products by operators";
  // No class gains by changing alone: both must change together.
  auto refined = refine(egraph, extracted->graph);
  ASSERT_TRUE(refined);
  EXPECT_EQ(refined->after.microseconds, 6);
  EXPECT_EQ(refined->result.cost_us, 11);
  // With other prices, refinement goes back.
  groups.prices.of = {{"matmul", 5}, {"slice", 4}};
  auto apart = refine(egraph, refined->result.graph);
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->after.microseconds, 10);
  EXPECT_EQ(apart->result.cost_us, 10);
}

TEST_F(Refining, TheLimitByOperatorsHolds) {
  EGraph egraph = two_products();
  model.prices.of = {{"matmul", 5}, {"slice", 3}};
  groups.prices.of = {{"matmul", 5}, {"slice", 0.5}};
  RefineOptions options;
  options.most_cost_us = 10;
  auto refined = refine(egraph, source, options);
  ASSERT_TRUE(refined);
  EXPECT_EQ(refined->moves, 0u);
  EXPECT_EQ(refined->result.cost_us, 10);
}

TEST_F(Refining, LayersAlikeChangeTogether) {
  EGraph egraph = layers(12);
  auto refined = refine(egraph, source);
  ASSERT_TRUE(refined);
  EXPECT_EQ(refined->after.groups, 36u) << "of 48";
  EXPECT_LT(refined->priced, 12u) << "not one layer after the other";
}

TEST_F(Refining, NoMoreGraphsArePricedThanAllowed) {
  EGraph egraph = layers(2);
  for (size_t most : {1u, 2u, 3u, 50u}) {
    groups.asked = 0;
    RefineOptions options;
    options.most_priced = most;
    auto refined = refine(egraph, source, options);
    ASSERT_TRUE(refined);
    EXPECT_LE(refined->priced, most);
    EXPECT_EQ(groups.asked, refined->priced + 1) << "and the one of this test";
    EXPECT_TRUE(most > 1 || refined->moves == 0);
  }
  Cancellation cancel;
  cancel.request();
  RefineOptions options;
  options.stop = StopToken(&cancel);
  auto refined = refine(egraph, source, options);
  ASSERT_TRUE(refined);
  EXPECT_TRUE(refined->ended);
  EXPECT_EQ(refined->priced, 1u);
}

TEST_F(Refining, LeavesGraphsAloneThatTheDeviceCannotRun) {
  EGraph egraph = layers(1);
  groups.none = kInfiniteCost;
  EXPECT_FALSE(refine(egraph, source));
  groups.none = 0;
  Graph other{symbols, "other"};
  other.add_output("y", other.add(OpKind::Exp, {}, {other.input("x", f32({4, 4}))}));
  EXPECT_FALSE(refine(egraph, other)) << "not in this e-graph";
}

TEST_F(Refining, EqualInputsGiveEqualResults) {
  EGraph egraph = layers(3);
  auto first = refine(egraph, source), second = refine(egraph, source);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(dump(first->result.graph), dump(second->result.graph));
  EXPECT_EQ(first->priced, second->priced);
}

TEST_F(Refining, MovesAlikeAreOneFamily) {
  EGraph egraph = layers(5);
  PriceCache prices(*symbols, model);
  EGraphProblem problem = make_problem(egraph, prices, 4);
  std::optional<Choice> choice = source_choice(egraph, source, problem);
  ASSERT_TRUE(choice);
  GreedyResult marginal = marginal_trees(problem.problem, *choice);
  auto families = find_moves(egraph, problem, *choice, marginal, 100);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].size(), 5u);
  EXPECT_TRUE(find_moves(egraph, problem, *choice, marginal, 0).empty());
}

} // namespace
} // namespace tg
