// Tests the published cost functions, and the published search with them.
#include "bench/paper/pact24/published_costs.h"

#include "bench/paper/pact24/pact24.h"
#include "compiler/ir/graph.h"
#include "tests/unit/search/search_fixture.h"

namespace tg::paper {
namespace {

using test::rules_of;
using test::UnitCost;

constexpr llvm::StringLiteral kRules = R"(
rule commutes(x, y) { x + y => y + x }
rule associates(x, y, z) { (x + y) + z => x + (y + z) }
rule doubles(x) { x + x => x * 2.0 }
rule relu_once(x) { relu(relu(x)) => relu(x) }
rule residual(a, b, r) { a @ b + r => matmul(a, b, residual = r) }
)";

/// Prices a state by the published sharing-aware cost.
class Shared final : public StatePrice {
public:
  Shared(const EGraph& egraph, PriceCache& prices) : prices_(egraph, prices) {}
  double price(const EGraph& egraph) override { return shared_greedy(egraph, prices_).cost_us; }
  void forget(llvm::ArrayRef<ENodeId> changed) override { prices_.forget(changed); }

private:
  NodePrices prices_;
};

TEST(Pact24, TheSeedDecidesAndTheGraphIsLeftSound) {
  UnitCost model;
  std::vector<Rule> rules = rules_of(kRules);
  auto run = [&](uint64_t seed, bool reuse) {
    EGraph egraph = egraph_of(test::layers(3));
    PriceCache prices(egraph.symbols(), model);
    Shared price(egraph, prices);
    Pact24Options options;
    options.budget = 12, options.depth = 3, options.max_decisions = 4;
    options.seed = seed, options.reuse_tree = reuse;
    options.explore.node_limit = 200;
    Pact24Report report = search_pact24(egraph, rules, options, price);
    EXPECT_LE(report.end_cost, report.start_cost);
    EXPECT_GT(report.simulations, 0u);
    EXPECT_EQ(verify(egraph), "");
    return dump(egraph);
  };
  EXPECT_EQ(run(1, false), run(1, false));
  EXPECT_EQ(run(2, true), run(2, true));
}

TEST(PublishedCost, CountsOneOverlapOnlyAndTreesInFull) {
  // Three levels of nodes that use the level below twice. As a tree they are 1 + 2 + 4 + 8 nodes.
  // In the graph, each level is one node.
  test::Builder b;
  NodeId x = b.op(OpKind::Tanh, {b.x("x", {4})});
  for (int i = 0; i < 3; ++i) x = b.op(OpKind::Add, {x, x});
  b.output(x);
  EGraph egraph = egraph_of(b.graph);
  UnitCost model;
  PriceCache cache(egraph.symbols(), model);
  NodePrices prices(egraph, cache);
  EXPECT_EQ(default_greedy(egraph, prices).cost_us, 15);
  EXPECT_EQ(shared_greedy(egraph, prices).cost_us, 4);
}

} // namespace
} // namespace tg::paper
