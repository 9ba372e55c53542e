// Tests kernels of a backend, from its patterns to the resulting graph: they are used where the
// rules lead to them, explained, and equal to the source.
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/graph.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/optimize.h"
#include "tests/unit/api/loading.h"

namespace tg {
namespace {

constexpr const char* kBlock = "model m(x: f32[8, 64], r: f32[8, 32]) -> (y: f32[8, 32]) {\n"
                               "  param w: f32[64, 32]\n  param b: f32[32]\n"
                               "  gelu(x @ w + b + r)\n}\n";

// The patterns of the backends cpu and cuda. A build may have neither.
constexpr Act kActs[] = {Act::Relu, Act::Gelu}, kRelu[] = {Act::Relu};
constexpr KernelPattern kCpu[] = {{OpKind::Matmul, true, true, kActs}};
constexpr KernelPattern kCuda[] = {{OpKind::Matmul, true, true, kRelu}};

class Kernels : public test::Loading {
protected:
  /// Runs without exploration, so that only kernels can gain.
  Optimized run(const Graph& source, llvm::ArrayRef<Rule> rules,
                llvm::ArrayRef<KernelPattern> patterns, Numerics numerics = Numerics::Risky,
                Search search = Search::Saturate) {
    AnalyticCost costs(*find_device_profile("cpu"), patterns);
    OptimizeOptions options;
    options.search = search;
    options.explore.iterations = 0;
    options.explore.node_limit = options.portfolio.mcts.explore.node_limit = 1;
    options.kernels = true;
    options.explain = true;
    options.explore.numerics = numerics;
    options.extract.extractor = Extractor::Best;
    Result<Optimized> result = optimize(source, rules, costs, options, nullptr);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
};

TEST_F(Kernels, AreUsedExplainedAndEqual) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  Optimized result = run(source, all, kCpu);
  EXPECT_EQ(result.report.nodes_before, 4u);
  EXPECT_EQ(result.report.nodes_after, 1u);
  EXPECT_LT(result.report.cost_after_us, result.report.cost_before_us);
  EXPECT_EQ(result.unexplained, "");
  ASSERT_TRUE(result.chain);
  EXPECT_EQ(result.chain->steps.size(), 3u) << "bias, residual, activation";
  EXPECT_TRUE(confirm_chain(result, all, source).ok());
  EXPECT_TRUE(verify_optimized(source, result, all, {}).ok());
}

TEST_F(Kernels, AreThoseOfTheBackend) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  EXPECT_EQ(run(source, all, {}).report.nodes_after, 4u);
  EXPECT_EQ(run(source, all, kCuda).report.nodes_after, 2u) << "gelu is a kernel of its own there";
}

TEST_F(Kernels, AreTakenByASearchThatDidNotComeToThem) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  // An e-graph limited to one node stops before a rule fires.
  Optimized result = run(source, all, kCpu, Numerics::Risky, Search::Mcts);
  EXPECT_EQ(result.report.nodes_after, 1u);
  EXPECT_LT(result.report.cost_after_us, result.report.cost_before_us);
  ASSERT_TRUE(result.chain) << result.unexplained;
  EXPECT_EQ(result.chain->steps.size(), 3u) << "bias, residual, activation";
  EXPECT_FALSE(result.report.rules_applied.empty());
  EXPECT_TRUE(confirm_chain(result, all, source).ok());
  EXPECT_TRUE(verify_optimized(source, result, all, {}).ok());
  EXPECT_EQ(run(source, all, {}, Numerics::Risky, Search::Mcts).report.nodes_after, 4u);
  Optimized exact = run(source, all, kCpu, Numerics::Exact, Search::Mcts);
  EXPECT_EQ(difference(source, exact.graph), "") << "the rules of fusion reassociate";
}

TEST_F(Kernels, AreForSearchesThatAreNotPublishedOnes) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  Optimized none = run(source, all, kCpu, Numerics::Risky, Search::None);
  EXPECT_EQ(difference(source, none.graph), "");
}

TEST_F(Kernels, AreNotUsedWhereNoRuleLeadsThere) {
  Graph source = load(kBlock);
  EXPECT_EQ(difference(source, run(source, {}, kCpu).graph), "");
  std::vector<Rule> all = rules();
  Optimized exact = run(source, all, kCpu, Numerics::Exact);
  EXPECT_EQ(difference(source, exact.graph), "") << "the rules of fusion reassociate";
}

} // namespace
} // namespace tg
