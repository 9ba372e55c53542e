// Tests prices of the narrower operators and graphs that a run executes,
// and finalists in that dtype.
#include "compiler/extract/extract.h"
#include "compiler/optimizer/retyped_cost.h"
#include "compiler/trial/backend_finalists.h"
#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// Prices every operator at 1, and records the requests.
struct Asked final : CostModel, GroupPricer {
  std::vector<std::string> keys, prepared;
  std::vector<std::string> graphs;

  std::string name() const override { return "recording"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    keys.push_back(instance_key(symbols, instance));
    return 1;
  }
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    for (const OpInstance& instance : instances)
      prepared.push_back(instance_key(symbols, instance));
  }
  GroupPricer* groups() override { return this; }
  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> priced) override {
    for (const Graph* graph : priced) graphs.push_back(dump(*graph));
    return std::vector<GroupPrice>(priced.size(), GroupPrice{7, 1});
  }
};

class RetypedCosts : public testing::Test {
protected:
  Graph graph{std::make_shared<Symbols>(), "m"};
  NodeId x = graph.input("x", f32({1, 4, 8, 8}));
  Asked asked;

  NodeId add(OpKind op, llvm::ArrayRef<NodeId> operands, llvm::ArrayRef<Value> attrs = {}) {
    return test::add_node(graph, op, operands, attrs);
  }
  double price(NodeId output) {
    graph.add_output("y", output);
    RetypedCost costs(asked, DType::F16);
    PriceCache prices(graph.symbols(), costs);
    return price_graph(graph, prices);
  }
};

TEST_F(RetypedCosts, PriceOperatorsInTheNarrowType) {
  NodeId w = graph.weight("w", f32({8, 8}));
  NodeId product =
      add(OpKind::Matmul, {x, w, graph.none(), graph.none()}, {Value::of_enum("none")});
  EXPECT_EQ(price(add(OpKind::Tanh, {product})), 2);
  EXPECT_EQ(asked.keys, (std::vector<std::string>{
                            "matmul(f16[1, 4, 8, 8], w f16[8, 8], none, none) {act = none}",
                            "tanh(f16[1, 4, 8, 8])"}));
}

TEST_F(RetypedCosts, OtherTypesStay) {
  NodeId seen = add(OpKind::Greater, {x, graph.constant({0}, f32({}))});
  price(add(OpKind::Cast, {seen}, {Value::of_enum("f32")}));
  EXPECT_EQ(asked.keys, (std::vector<std::string>{"greater(f16[1, 4, 8, 8], w f16)",
                                                  "cast(bool[1, 4, 8, 8]) {dtype = f16}"}));
}

TEST_F(RetypedCosts, AddConversionsAroundOperatorsThatStayWide) {
  NodeId u =
      add(OpKind::WinogradWeight, {graph.weight("w", f32({4, 4, 3, 3}))}, {Value::of_int(4)});
  NodeId y = add(OpKind::WinogradConv2d, {x, u, graph.none(), graph.none()},
                 {Value::of_enum("same"), Value::of_enum("none")});
  EXPECT_EQ(price(y), 3);
  std::vector<std::string>& keys = asked.keys;
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0], "cast(f16[1, 4, 8, 8]) {dtype = f32}");
  EXPECT_EQ(keys[1], "cast(f32[1, 4, 8, 8]) {dtype = f16}");
  EXPECT_EQ(keys[2].substr(0, 35), "winograd_conv2d(f32[1, 4, 8, 8], w ");
}

TEST_F(RetypedCosts, PrepareTheInstancesThatTheyPrice) {
  NodeId y = add(OpKind::Tanh, {x});
  RetypedCost costs(asked, DType::BF16);
  TypeId operand = graph.node(x).type;
  OpInstance instance{OpKind::Tanh, graph.node(y).attrs, operand, graph.node(y).type};
  costs.prepare(graph.symbols(), {instance});
  EXPECT_TRUE(costs.known(graph.symbols(), {instance}));
  EXPECT_EQ(asked.prepared, std::vector<std::string>{"tanh(bf16[1, 4, 8, 8])"});
  EXPECT_EQ(costs.name(), "recording, bf16");
}

TEST_F(RetypedCosts, GroupsAreOfTheGraphThatRuns) {
  graph.add_output("y", add(OpKind::Tanh, {x}));
  RetypedCost costs(asked, DType::F16);
  std::vector<GroupPrice> prices = costs.groups()->price({&graph});
  ASSERT_EQ(prices.size(), 1u);
  EXPECT_EQ(prices[0].microseconds, 7);
  EXPECT_NE(asked.graphs[0].find("f16"), std::string::npos) << asked.graphs[0];
}

TEST_F(RetypedCosts, FinalistsRunInTheNarrowType) {
  graph.add_output("y", add(OpKind::Tanh, {x}));
  PrepareOptions options;
  options.backend = "ref";
  options.dtype = DType::F16;
  auto prepared = prepare(graph, options);
  ASSERT_TRUE(prepared.ok());
  std::string plan = dump(prepared->plan);
  EXPECT_NE(plan.find("f16"), std::string::npos) << plan;
  auto screened = BackendFinalists(options).screen(graph, {&graph});
  ASSERT_TRUE(screened.ok());
  EXPECT_EQ((*screened)[0].fault, "");
}

TEST_F(RetypedCosts, BoundsOfFinalistsGoByTheType) {
  PrepareOptions options;
  double f32 = BackendFinalists(options).bound();
  options.allow_tf32 = true;
  double tf32 = BackendFinalists(options).bound();
  options.dtype = DType::BF16;
  double bf16 = BackendFinalists(options).bound();
  EXPECT_LT(f32, tf32);
  EXPECT_LT(tf32, bf16);
}

} // namespace
} // namespace tg
