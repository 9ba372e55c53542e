// Tests extraction from an e-graph to a graph: free work at load, limits on the growth
// of weights, names, ties, and the rules that receive credit.
#include "compiler/extract/cost/fused.h"
#include "compiler/extract/extract.h"

#include <gtest/gtest.h>

#include <map>

namespace tg {
namespace {

/// Prices by the operator's name; the default is 1.
struct FixedCost : CostModel {
  std::map<std::string, double> prices;
  std::vector<std::string> asked;
  explicit FixedCost(std::map<std::string, double> p = {}) : prices(std::move(p)) {}
  std::string name() const override { return "fixed"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    asked.push_back(instance_key(symbols, instance));
    auto found = prices.find(std::string(op_info(instance.op).name));
    return found == prices.end() ? 1 : found->second;
  }
};

constexpr RuleId kRule = 7;

/// A graph y = tanh(x @ w1 @ w2), which tests may change, and its e-graph.
class Extracting : public testing::Test {
protected:
  std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>();
  Graph source{symbols, "m"};
  FixedCost model;

  NodeId op(OpKind kind, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    llvm::SmallVector<ValueId, 4> values;
    for (const Value& v : attrs) values.push_back(symbols->value(v));
    std::string why;
    NodeId node = source.add(kind, values, operands, &why);
    EXPECT_TRUE(node.valid()) << why;
    return node;
  }
  NodeId matmul(NodeId x, NodeId y) {
    return op(OpKind::Matmul, {x, y, source.none(), source.none()}, {Value::of_enum("none")});
  }
  /// Returns the class of a node of the source.
  static ClassId in(const EGraph& egraph, const Graph& graph, NodeId id) {
    llvm::SmallVector<ClassId, 4> children;
    for (NodeId operand : graph.operands(id)) children.push_back(in(egraph, graph, operand));
    ENodeId node = egraph.lookup(graph.node(id).op, graph.node(id).attrs, children);
    EXPECT_TRUE(node.valid());
    return class_of(egraph, node);
  }
  ClassId add(EGraph& egraph, OpKind kind, std::vector<ClassId> children,
              std::vector<Value> attrs = {}, ENodeId match = {}) {
    llvm::SmallVector<ValueId, 4> values;
    for (const Value& v : attrs) values.push_back(symbols->value(v));
    ClassId cls = add_node(egraph, kind, values, children, {kRule, match});
    EXPECT_TRUE(cls.valid());
    return cls;
  }
  Result<ExtractedGraph> run(const EGraph& egraph, ExtractOptions options = {}) {
    PriceCache prices(*symbols, model);
    return extract(egraph, source, prices, options);
  }
  /// Extracts with both extractors, which must agree here.
  ExtractedGraph both(const EGraph& egraph, ExtractOptions options = {}) {
    options.extractor = Extractor::Greedy;
    Result<ExtractedGraph> greedy = run(egraph, options);
    options.extractor = Extractor::Ilp;
    Result<ExtractedGraph> ilp = run(egraph, options);
    EXPECT_TRUE(greedy && ilp);
    EXPECT_EQ(dump(greedy->graph), dump(ilp->graph));
    EXPECT_EQ(verify(ilp->graph), "");
    EXPECT_TRUE(ilp->optimal);
    EXPECT_EQ(ilp->lower_bound_us, ilp->cost_us);
    return std::move(*ilp);
  }
};

TEST_F(Extracting, AnEGraphWithoutRewritesGivesTheSourceBack) {
  NodeId unused = source.input("unused", f32({3}));
  NodeId x = source.input("x", f32({4, 8})), w = source.weight("w", f32({8, 8}));
  NodeId y = matmul(x, w);
  source.add_output("y", op(OpKind::Tanh, {y}));
  source.add_output("raw", y);
  source.add_output("again", y);
  ASSERT_TRUE(unused.valid());
  ExtractedGraph out = both(egraph_of(source));
  ASSERT_EQ(out.graph.inputs().size(), 2u);
  EXPECT_EQ(out.graph.attr(out.graph.inputs()[0], 0).text, "unused");
  EXPECT_EQ(out.graph.attr(out.graph.inputs()[1], 0).text, "x");
  ASSERT_EQ(out.graph.outputs().size(), 3u);
  EXPECT_EQ(out.graph.outputs()[2].name, "again");
  EXPECT_EQ(out.graph.outputs()[1].node, out.graph.outputs()[2].node);
  EXPECT_EQ(out.cost_us, 2);
  EXPECT_EQ(out.weight_bytes, 256);
  EXPECT_TRUE(out.rules_used.empty());
  PriceCache prices(*symbols, model);
  EXPECT_EQ(price_graph(source, prices), 2);
  EXPECT_EQ(price_graph(out.graph, prices), 2);
}

TEST_F(Extracting, PrefersWorkAtLoad) {
  NodeId x = source.input("x", f32({4, 8}));
  NodeId w1 = source.weight("w1", f32({8, 8})), w2 = source.weight("w2", f32({8, 8}));
  NodeId y = matmul(matmul(x, w1), w2);
  source.add_output("y", y);
  EGraph egraph = egraph_of(source);
  ClassId none = add_node(egraph, OpKind::None, {}, {}), root = in(egraph, source, y);
  ENodeId match = *egraph.nodes(root).begin();
  ClassId w12 =
      add(egraph, OpKind::Matmul, {in(egraph, source, w1), in(egraph, source, w2), none, none},
          {Value::of_enum("none")}, match);
  ClassId joined = add(egraph, OpKind::Matmul, {in(egraph, source, x), w12, none, none},
                       {Value::of_enum("none")}, match);
  egraph.merge(root, joined, {kRule, match});
  egraph.rebuild();
  ExtractedGraph out = both(egraph);
  EXPECT_EQ(out.cost_us, 1);
  EXPECT_EQ(out.weight_bytes, 256) << "the two factors are gone after load";
  EXPECT_EQ(out.rules_used, (std::vector<RuleUse>{{kRule, 1}})) << "two nodes, one application";
  for (const std::string& key : model.asked)
    EXPECT_TRUE(llvm::StringRef(key).startswith("matmul(f32")) << key << ": load work has no price";
}

TEST_F(Extracting, AFusedOperatorIsThePatternThatTheBackendRunsAsOne) {
  // relu(x @ w + b), with the sum as an output or not: once with the node that the fusing rules
  // add, and once without it, with the kernel's price on the pattern.
  NodeId x = source.input("x", f32({4, 8})), w = source.weight("w", f32({8, 8}));
  NodeId b = source.weight("b", f32({8}));
  NodeId product = matmul(x, w), sum = op(OpKind::Add, {product, b});
  NodeId y = op(OpKind::Relu, {sum});
  source.add_output("y", y);
  for (bool sum_is_output : {false, true}) {
    if (sum_is_output) source.add_output("sum", sum);
    for (double kernel : {1.0, 5.0, 9.0}) {
      model.prices = {{"matmul", kernel}, {"add", 3}, {"relu", 2}};
      EGraph apart = egraph_of(source), fused = egraph_of(source);
      ClassId none = add_node(fused, OpKind::None, {}, {});
      ClassId one = add(fused, OpKind::Matmul,
                        {in(fused, source, x), in(fused, source, w), in(fused, source, b), none},
                        {Value::of_enum("relu")});
      fused.merge(in(fused, source, y), one, {kRule, {}});
      fused.rebuild();
      PriceCache prices(*symbols, model);
      EGraphProblem problem = make_problem(apart, prices, 4);
      FusedPattern pattern{{}, kernel};
      for (NodeId part : {y, sum, product})
        for (uint32_t n = 0; n < problem.node.size(); ++n)
          if (problem.cls[problem.problem.class_of({n}).index] == in(apart, source, part))
            pattern.nodes.push_back({n});
      ASSERT_EQ(fault_of(problem.problem, pattern), "");
      FusedProblem as_pattern = with_patterns(problem.problem, {pattern});
      Result<Extraction> found = run_extractor(as_pattern.problem, Extractor::Best);
      ASSERT_TRUE(found.ok());
      Result<ExtractedGraph> as_operator = run(fused, {.extractor = Extractor::Best});
      ASSERT_TRUE(as_operator.ok());
      EXPECT_NEAR(as_operator->cost_us, found->dag_cost, 1e-3) << kernel << sum_is_output;
      EXPECT_NEAR(found->dag_cost, sum_is_output ? kernel + 3 + std::min(2.0, kernel) : kernel,
                  1e-3);
    }
  }
}

TEST_F(Extracting, BoundsTheGrowthOfWeights) {
  NodeId x = source.input("x", f32({4, 8})), w = source.weight("w", f32({8, 4}));
  NodeId y = op(OpKind::Tanh, {matmul(x, w)});
  source.add_output("y", y);
  EGraph egraph = egraph_of(source);
  // The same with a table of sixteen times the size.
  ClassId wide = in(egraph, source, w);
  ClassId huge = add(egraph, OpKind::Pad, {wide},
                     {Value::of_ints({0, 0}), Value::of_ints({0, 60}), Value::of_float(0)});
  ClassId none = add_node(egraph, OpKind::None, {}, {});
  ClassId product = add(egraph, OpKind::Matmul, {in(egraph, source, x), huge, none, none},
                        {Value::of_enum("tanh")});
  ClassId piece =
      add(egraph, OpKind::Slice, {product}, {Value::of_int(1), Value::of_int(0), Value::of_int(4)});
  egraph.merge(in(egraph, source, y), piece, {kRule, {}});
  egraph.rebuild();
  model.prices["slice"] = 0;
  EXPECT_EQ(both(egraph, {.max_weight_growth = 20}).cost_us, 1);
  ExtractedGraph bounded = both(egraph, {.max_weight_growth = 4});
  EXPECT_EQ(bounded.cost_us, 2);
  EXPECT_EQ(bounded.weight_bytes, 128);
}

TEST_F(Extracting, DoesNotRefuseASourceForItsOwnGrowthOfWeights) {
  NodeId x = source.input("x", f32({4, 8})), w = source.weight("w", f32({8, 4}));
  NodeId wide =
      op(OpKind::Pad, {w}, {Value::of_ints({0, 0}), Value::of_ints({0, 60}), Value::of_float(0)});
  source.add_output("y", matmul(x, wide));
  EGraph egraph = egraph_of(source);
  ExtractedGraph same = both(egraph, {.max_weight_growth = 4});
  EXPECT_EQ(same.cost_us, 1);
  EXPECT_EQ(same.weight_bytes, 16 * 128);
}

TEST_F(Extracting, FilteredNodesAreNotUsed) {
  NodeId x = source.input("x", f32({8}));
  NodeId y = op(OpKind::Tanh, {x});
  source.add_output("y", y);
  EGraph egraph = egraph_of(source);
  ClassId cheap = add(egraph, OpKind::Relu, {in(egraph, source, x)});
  egraph.merge(in(egraph, source, y), cheap, {kRule, {}});
  egraph.rebuild();
  model.prices["tanh"] = 3;
  EXPECT_EQ(both(egraph).cost_us, 1);
  for (ENodeId node : egraph.with_op(OpKind::Relu)) egraph.filter(node);
  EXPECT_EQ(both(egraph).cost_us, 3);
}

TEST_F(Extracting, TiesGoToFewerOperators) {
  NodeId x = source.input("x", f32({8}));
  NodeId y = op(OpKind::Identity, {op(OpKind::Tanh, {x})});
  source.add_output("y", y);
  EGraph egraph = egraph_of(source);
  egraph.merge(in(egraph, source, y), in(egraph, source, source.operands(y)[0]), {kRule, {}});
  egraph.rebuild();
  model.prices["identity"] = 0;
  ExtractedGraph out = both(egraph);
  EXPECT_EQ(out.graph.op_count(), 1u);
  EXPECT_EQ(out.cost_us, 1) << "what breaks ties is not part of the cost";
}

TEST_F(Extracting, SharesWorkThatGreedyCountsTwice) {
  // y1 and y2 cost 5 each alone. A common product costs 6, and each slice of it 1.
  NodeId x = source.input("x", f32({8}));
  NodeId y1 = op(OpKind::Tanh, {x}), y2 = op(OpKind::Sigmoid, {x});
  source.add_output("y1", y1);
  source.add_output("y2", y2);
  EGraph egraph = egraph_of(source);
  ClassId common = add(egraph, OpKind::Exp, {in(egraph, source, x)});
  egraph.merge(in(egraph, source, y1), add(egraph, OpKind::Neg, {common}), {kRule, {}});
  egraph.merge(in(egraph, source, y2), add(egraph, OpKind::Relu, {common}), {kRule, {}});
  egraph.rebuild();
  model.prices = {{"tanh", 5}, {"sigmoid", 5}, {"exp", 6}};
  Result<ExtractedGraph> greedy = run(egraph, {.extractor = Extractor::Greedy});
  Result<ExtractedGraph> ilp = run(egraph, {.extractor = Extractor::Ilp});
  ASSERT_TRUE(greedy && ilp);
  EXPECT_EQ(greedy->cost_us, 10);
  EXPECT_EQ(ilp->cost_us, 8);
  EXPECT_EQ(ilp->algorithm, "ilp");
  EXPECT_TRUE(ilp->optimal);
}

TEST_F(Extracting, NamesTheOutputThatHasNoPrice) {
  NodeId x = source.input("x", f32({8}));
  source.add_output("fine", op(OpKind::Relu, {x}));
  source.add_output("bad", op(OpKind::Tanh, {x}));
  model.prices["tanh"] = std::numeric_limits<double>::infinity();
  for (Extractor extractor : {Extractor::Greedy, Extractor::Ilp}) {
    Result<ExtractedGraph> out = run(egraph_of(source), {.extractor = extractor});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::no_solution);
    EXPECT_EQ(out.error().message, "the output `bad` has no form with a finite cost");
  }
}

TEST_F(Extracting, TheSourceIsAChoiceOfItsEGraph) {
  NodeId x = source.input("x", f32({4, 8}));
  NodeId w = op(OpKind::Neg, {source.weight("w", f32({8, 8}))});
  NodeId y = op(OpKind::Tanh, {matmul(x, w)});
  source.add_output("y", y);
  EGraph egraph = egraph_of(source);
  egraph.merge(in(egraph, source, y), add(egraph, OpKind::Relu, {in(egraph, source, x)}), {});
  PriceCache prices(*symbols, model);
  egraph.rebuild();
  EGraphProblem problem = make_problem(egraph, prices, 4);
  auto choice = source_choice(egraph, source, problem);
  ASSERT_TRUE(choice);
  EXPECT_NEAR(check_choice(problem.problem, *choice).dag_cost, price_graph(source, prices), 1e-3);
  for (ENodeId node : egraph.with_op(OpKind::Tanh)) egraph.filter(node);
  EXPECT_FALSE(source_choice(egraph, source, make_problem(egraph, prices, 4)));
}

} // namespace
} // namespace tg
