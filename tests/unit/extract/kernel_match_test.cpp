// Tests kernels of a device as extraction nodes: where they match, which choices they change,
// and the resulting graphs.
#include "compiler/extract/extract.h"

#include "compiler/extract/cost/fused.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

constexpr Act kRelu[] = {Act::Relu};
constexpr KernelPattern kBoth[] = {{OpKind::Conv2d, true, true, kRelu},
                                   {OpKind::Matmul, true, true, kRelu}};
constexpr KernelPattern kBiasAlone[] = {{OpKind::Matmul, true, false, {}}};

/// Every kernel costs 4, except sigmoid, which costs 9. Products and convolutions cost 1 more
/// for each fused step.
struct KernelCost : CostModel {
  llvm::ArrayRef<KernelPattern> known;
  explicit KernelCost(llvm::ArrayRef<KernelPattern> patterns) : known(patterns) {}
  std::string name() const override { return "kernels"; }
  llvm::ArrayRef<KernelPattern> patterns() const override { return known; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    if (instance.op == OpKind::Sigmoid) return 9;
    if (instance.op != OpKind::Matmul && instance.op != OpKind::Conv2d) return 4;
    auto act = static_cast<size_t>(op_info(instance.op).attr_slot("act"));
    double price = symbols.attr(instance.attrs, act).text == "none" ? 4 : 5;
    for (TypeId extra : instance.operands.drop_front(2)) price += extra != symbols.none_type();
    return price;
  }
};

class Kernels : public testing::Test {
protected:
  std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>();
  Graph source{symbols, "m"};

  NodeId op(OpKind kind, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    llvm::SmallVector<ValueId, 4> values;
    for (const Value& v : attrs) values.push_back(symbols->value(v));
    std::string why;
    NodeId node = source.add(kind, values, operands, &why);
    EXPECT_TRUE(node.valid()) << why;
    return node;
  }
  NodeId input(const char* name, const TensorType& type) {
    return op(OpKind::Input, {}, {Value::of_string(name), Value::of_type(type)});
  }
  NodeId weight(const char* name, const TensorType& type) {
    return op(OpKind::Weight, {},
              {Value::of_string(name), Value::of_type(type), Value::of_string("")});
  }
  NodeId matmul(NodeId x, NodeId w) {
    return op(OpKind::Matmul, {x, w, source.none(), source.none()}, {Value::of_enum("none")});
  }
  NodeId add(NodeId x, NodeId y) { return op(OpKind::Add, {x, y}); }
  NodeId relu(NodeId x) { return op(OpKind::Relu, {x}); }

  Result<ExtractedGraph> run(const EGraph& egraph, llvm::ArrayRef<KernelPattern> patterns,
                             bool kernels = true) {
    KernelCost cost(patterns);
    PriceCache prices(*symbols, cost);
    ExtractOptions options;
    options.extractor = Extractor::Best;
    options.kernels = kernels;
    return extract(egraph, source, prices, options);
  }
  ExtractedGraph run(llvm::ArrayRef<KernelPattern> patterns) {
    EGraph egraph = egraph_of(source);
    Result<ExtractedGraph> extracted = run(egraph, patterns);
    EXPECT_TRUE(extracted.ok());
    EXPECT_EQ(verify(extracted->graph), "");
    return std::move(*extracted);
  }
  size_t count(const Graph& graph, OpKind kind) {
    std::vector<bool> needed = graph.reachable();
    size_t found = 0;
    for (uint32_t i = 0; i < graph.size(); ++i)
      found += needed[i] && !graph.node({i}).weight_only && graph.node({i}).op == kind;
    return found;
  }
};

TEST_F(Kernels, ChangeTheChoice) {
  // relu(x @ w + b) costs 12, or 9 in the form that a rule finds. In one kernel it costs 6.
  NodeId x = input("x", f32({8, 8}));
  NodeId y = relu(add(matmul(x, weight("w", f32({8, 8}))), weight("b", f32({8}))));
  source.add_output("y", y);
  EGraph egraph = egraph_of(source);
  ClassId in = class_of(egraph, egraph.with_op(OpKind::Input)[0]);
  egraph.merge(egraph.roots()[0].id, add_node(egraph, OpKind::Sigmoid, {}, {in}), {0, {}});
  egraph.rebuild();

  Result<ExtractedGraph> apart = run(egraph, {}), whole = run(egraph, kBoth);
  ASSERT_TRUE(apart.ok() && whole.ok());
  EXPECT_EQ(apart->cost_us, 9);
  EXPECT_EQ(count(apart->graph, OpKind::Sigmoid), 1u);
  EXPECT_FALSE(apart->plain);
  EXPECT_EQ(whole->cost_us, 6);
  EXPECT_TRUE(whole->optimal);
  EXPECT_EQ(whole->graph.op_count(), 1u) << dump(whole->graph);
  EXPECT_EQ(count(whole->graph, OpKind::Matmul), 1u);
  ASSERT_TRUE(whole->plain);
  EXPECT_EQ(count(*whole->plain, OpKind::Relu), 1u) << dump(*whole->plain);
  EXPECT_EQ(run(egraph, kBoth, false)->cost_us, 9) << "only if requested";

  // The checker does not know kernels. It confirms that the choice is sound and has this cost.
  KernelCost cost(kBoth);
  PriceCache prices(*symbols, cost);
  EGraphProblem problem = make_problem(egraph, prices, 4, true);
  Result<Extraction> found = run_extractor(problem.problem, Extractor::Best);
  ASSERT_TRUE(found.ok());
  CheckedChoice checked = check_choice(problem.problem, found->choice);
  EXPECT_EQ(checked.fault, "");
  EXPECT_NEAR(checked.dag_cost, 6, 1e-3) << "and the terms that break ties";
}

TEST_F(Kernels, AreThoseOfTheDevice) {
  NodeId x = input("x", f32({8, 8}));
  NodeId y = relu(add(matmul(x, weight("w", f32({8, 8}))), weight("b", f32({8}))));
  source.add_output("y", y);
  EXPECT_EQ(run({}).cost_us, 12);
  EXPECT_EQ(run(kBiasAlone).cost_us, 9) << "the activation is a kernel of its own";
  EXPECT_EQ(run(kBoth).cost_us, 6);
}

TEST_F(Kernels, TakeBiasAndResidualInEitherOrder) {
  NodeId x = input("x", f32({8, 8})), r = input("r", f32({8, 8}));
  NodeId w = weight("w", f32({8, 8})), b = weight("b", f32({8}));
  source.add_output("y", relu(add(r, add(matmul(x, w), b))));
  source.add_output("z", relu(add(b, add(matmul(r, w), x))));
  ExtractedGraph found = run(kBoth);
  EXPECT_EQ(found.cost_us, 14);
  EXPECT_EQ(found.graph.op_count(), 2u) << dump(found.graph);
}

TEST_F(Kernels, ReshapeTheBiasOfAConvolutionAtLoad) {
  NodeId x = input("x", f32({1, 4, 8, 8})), w = weight("w", f32({6, 4, 1, 1}));
  NodeId conv = op(OpKind::Conv2d, {x, w, source.none(), source.none()},
                   {Value::of_ints({1, 1}), Value::of_enum("valid"), Value::of_ints({1, 1}),
                    Value::of_enum("none")});
  source.add_output("y", relu(add(conv, weight("b", f32({6, 1, 1})))));
  ExtractedGraph found = run(kBoth);
  EXPECT_EQ(found.cost_us, 6);
  EXPECT_EQ(count(found.graph, OpKind::Add), 0u) << dump(found.graph);
}

TEST_F(Kernels, RecomputeInnerValuesThatOtherNodesRead) {
  NodeId x = input("x", f32({8, 8}));
  NodeId product = matmul(x, weight("w", f32({8, 8})));
  NodeId sum = add(product, weight("b", f32({8})));
  source.add_output("y", relu(sum));
  source.add_output("z", op(OpKind::Tanh, {sum}));
  ExtractedGraph found = run(kBoth);
  EXPECT_EQ(found.cost_us, 5 + 4 + 4) << "product and bias in one kernel, which both read";
  EXPECT_EQ(count(found.graph, OpKind::Relu), 1u) << dump(found.graph);
}

TEST_F(Kernels, RejectChainsThatDependOnThemselves) {
  NodeId x = input("x", f32({8, 8}));
  NodeId product = matmul(x, weight("w", f32({8, 8})));
  source.add_output("y", add(product, product)); // the residual is the product
  source.add_output("z", add(matmul(x, weight("v", f32({8, 8}))), input("c", f32({8, 1}))));
  EXPECT_EQ(run(kBoth).cost_us, 4 + 4 + 4 + 4);
}

} // namespace
} // namespace tg
