// Tests the incumbent by its definition: its cost is that of its graph on any walk forward
// and back, and it finds gains that greedy prices do not.
#include "compiler/search/incumbent.h"

#include "compiler/extract/extract.h"
#include "compiler/search/chosen_graph.h"
#include "compiler/search/explorer.h"
#include "tests/unit/search/search_fixture.h"

#include <random>
#include <set>

namespace tg {
namespace {

using test::Builder;
using test::rules_of;
using test::UnitCost;

constexpr llvm::StringLiteral kJoin = R"(
rule join(x, a, b) {
  x @ a, x @ b
    => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where weight(a), weight(b), rank(a) == rank(b)
}
)";

/// Two products that share their left operand. Merging them pays only if both use the merged one.
TEST(Incumbent, OpensAClassThatSeveralUsersPayForTogether) {
  EGraph egraph = egraph_of(test::shared_products(2));
  UnitCost model;
  model.cost[OpKind::Matmul] = 10;
  model.cost[OpKind::Slice] = 1;
  PriceCache prices(egraph.symbols(), model);
  std::vector<Rule> rules = rules_of(kJoin);
  Explorer explorer(egraph, rules, {});
  explorer.rebuild();
  Incumbent incumbent(egraph, prices);
  double before = incumbent.update();
  ASSERT_GT(explorer.apply_everywhere(explorer.rule(0)).applied, 0u);
  double after = incumbent.update();
  EXPECT_NEAR(before - after, 20 - 10 - 2, 0.01);
}

/// Measured prices. Counts the requests that were not announced.
class NoticedCost final : public CostModel {
public:
  std::string name() const override { return "noticed"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    if (!noticed_.count(instance_key(symbols, instance))) ++surprises;
    return 1;
  }
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    for (const OpInstance& instance : instances) noticed_.insert(instance_key(symbols, instance));
    largest = std::max(largest, instances.size());
  }
  bool needs_preparation() const override { return true; }
  size_t surprises = 0, largest = 0;

private:
  std::set<std::string> noticed_;
};

TEST(Incumbent, SaysWhichPricesItWillAskFor) {
  EGraph egraph = egraph_of(test::shared_products(3));
  NoticedCost model;
  PriceCache prices(egraph.symbols(), model);
  std::vector<Rule> rules = rules_of(kJoin);
  Explorer explorer(egraph, rules, {});
  explorer.rebuild();
  Incumbent incumbent(egraph, prices);
  incumbent.update();
  size_t before = prices.size();
  EXPECT_EQ(model.largest, before);
  ASSERT_GT(explorer.apply_everywhere(explorer.rule(0)).applied, 0u);
  incumbent.update();
  EXPECT_GT(prices.size(), before);
  NodePrices own(egraph, prices);
  own.announce();
  for (uint32_t n = 0; n < egraph.node_bound(); ++n)
    if (usable(egraph, {n})) own.price({n});
  EXPECT_EQ(model.surprises, 0u);
}

/// After any steps, forward and back, the incumbent is sound, its cost is that of its graph,
/// and it is not worse than the source.
TEST(Incumbent, StaysValidInRandomWalks) {
  Graph source = test::shared_products(4);
  EGraph egraph = egraph_of(source);
  UnitCost model;
  model.cost[OpKind::Matmul] = 10;
  PriceCache prices(egraph.symbols(), model);
  std::vector<Rule> rules = rules_of(test::kAlgebra.str() + kJoin.str());
  Explorer explorer(egraph, rules, {.node_limit = 400});
  explorer.rebuild();
  Incumbent incumbent(egraph, prices);
  double start = incumbent.update();
  std::mt19937_64 rng(7);
  for (int walk = 0; walk < 40; ++walk) {
    Incumbent::State saved = incumbent.save();
    uint32_t mark = egraph.change_mark();
    Checkpoint root = egraph.checkpoint();
    for (int i = 0; i < 4; ++i) {
      explorer.apply_everywhere(*explorer.rules()[rng() % explorer.rules().size()]);
      double cost = incumbent.update();
      Graph graph = graph_of(egraph, source, incumbent.used_nodes());
      EXPECT_EQ(verify(graph), "");
      EXPECT_NEAR(price_graph(graph, prices), cost, 1e-6 * cost);
      EXPECT_LE(cost, start * (1 + 1e-9));
    }
    incumbent.prices().forget(egraph.changes_since(mark));
    egraph.rollback(root);
    egraph.release(root);
    explorer.moved();
    incumbent.restore(saved);
    EXPECT_NEAR(incumbent.update(), saved.cost, 1e-9 * saved.cost);
  }
}

} // namespace
} // namespace tg
