// Tests prices of groups, from the device's profile to the result: the price of a group,
// its use in `optimize`, and that no price makes a result worse.
#include "compiler/optimizer/group_refinement.h"

#include "compiler/api/backends/backends.h"
#include "compiler/ir/graph.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/pricing/measured_cost.h"
#include "tests/unit/api/loading.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>
#include <functional>

namespace tg {
namespace {

/// Two heads that share an input, and a chain with several possible orders.
constexpr const char* kBlock =
    "model m(x: f32[16, 64], r: f32[64, 16]) -> (y: f32[16, 32], z: f32[64, 16]) {\n"
    "  param u: f32[64, 32]\n  param v: f32[64, 32]\n"
    "  let a = tanh(x @ u)\n  let b = exp(x @ v)\n"
    "  (a * b, transpose(relu(transpose(tanh(r)))))\n}\n";

class GroupRefinement : public test::Loading {
protected:
  static OptimizeOptions options(Search search) {
    OptimizeOptions options;
    options.search = search;
    options.explore.iterations = 4;
    options.explore.node_limit = 800;
    options.portfolio.mcts.explore.node_limit = 300;
    options.portfolio.mcts.budget = 4;
    options.portfolio.sweeps = 2;
    options.local.budget = 40;
    options.explore.numerics = Numerics::Reassociates;
    options.extract.extractor = Extractor::GreedyDag;
    options.kernels = options.groups = options.explain = true;
    options.refine.most_priced = 60;
    return options;
  }
  static Optimized run(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                       const OptimizeOptions& options) {
    Result<Optimized> result = optimize(source, rules, costs, options, nullptr);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
  std::unique_ptr<CostModel> costs_of(const char* spec, const Graph& source) {
    auto costs = make_cost_model(
        {.spec = *CostSpec::from_text(spec), .cost_db = {}, .progress = {}}, source);
    EXPECT_TRUE(costs.ok());
    return std::move(*costs);
  }
};

/// Prices operators as on an a100, and groups as a test states.
class MadeUp final : public CostModel, GroupPricer {
public:
  std::function<double(const Graph&)> of;
  size_t asked = 0;

  explicit MadeUp(std::function<double(const Graph&)> price) : of(std::move(price)) {}
  std::string name() const override { return "made up"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    return operators_.price(symbols, instance);
  }
  GroupPricer* groups() override { return this; }
  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<GroupPrice> prices;
    for (const Graph* graph : graphs) prices.push_back({of(*graph), graph->op_count()});
    asked += graphs.size();
    return prices;
  }

private:
  AnalyticCost operators_{*find_device_profile("a100")};
};

/// Takes the launch groups from the device's backend.
class AnalyticGroups : public GroupRefinement {
protected:
  void SetUp() override {
    // The backend that fuses defines the groups, and a build with TG_CUDA=OFF does not have it.
    // A build with cuda runs this test on every machine, with a GPU or without.
    if (!find_backend("cuda")) GTEST_SKIP() << "built without cuda, the backend that fuses";
  }
};

TEST_F(AnalyticGroups, PriceAGroupOfOneAsItsOperator) {
  for (const char* text :
       {"model m(x: f32[64, 96]) -> (y: f32[64, 96]) { tanh(x) }\n",
        "model m(x: f32[64, 96]) -> (y: f32[96, 64]) { transpose(x) }\n",
        "model m(x: f32[64, 96], w: f32[96, 32]) -> (y: f32[64, 32]) { x @ w }\n",
        "model m(x: f32[2048, 4096]) -> (y: f32[2048, 4096]) { softmax(x, axis = 1) }\n",
        "model m(x: f32[1, 32, 14, 14], w: f32[8, 32, 3, 3]) -> (y: f32[1, 8, 14, 14]) {\n"
        "  conv2d(x, w, pad = same)\n}\n"}) {
    Graph graph = load(text);
    auto costs = costs_of("analytic:a100", graph);
    ASSERT_TRUE(costs->groups());
    GroupPrice price = costs->groups()->price({&graph}).front();
    EXPECT_EQ(price.groups, 1u) << text;
    PriceCache prices(graph.symbols(), *costs);
    EXPECT_DOUBLE_EQ(price.microseconds, price_graph(graph, prices)) << text;
  }
}

TEST_F(AnalyticGroups, PriceOneLaunchAndTheMemoryTrafficOfAGroup) {
  Graph graph = load("model m(x: f32[4096, 4096], b: f32[4096]) -> (y: f32[4096, 4096]) {\n"
                     "  relu(x + b)\n}\n");
  auto costs = costs_of("analytic:a100", graph);
  ASSERT_TRUE(costs->groups());
  GroupPrice price = costs->groups()->price({&graph}).front();
  EXPECT_EQ(price.groups, 1u);
  const DeviceProfile& a100 = *find_device_profile("a100");
  double bytes = 4.0 * (2 * 4096 * 4096 + 4096);
  EXPECT_NEAR(price.microseconds, a100.launch_us + bytes / (a100.memory_gbs * 1e3 * 0.85), 1e-6);
  // Only the sliced elements are read.
  Graph piece = load("model m(x: f32[4096, 4096]) -> (y: f32[64, 4096]) {\n"
                     "  exp(slice(x, axis = 0, start = 8, stop = 72))\n}\n");
  GroupPrice small = costs->groups()->price({&piece}).front();
  EXPECT_EQ(small.groups, 1u);
  EXPECT_LT(small.microseconds, a100.launch_us + 2);
}

std::string attention_text(const std::string& dtype, bool masked) {
  std::string type = dtype + "[1, 8, 2048, 64]";
  std::string text =
      "model m(q: " + type + ", k: " + type + ", v: " + type + ") -> (y: " + type + ") {\n";
  if (masked) text += "  param b: " + dtype + "[2048, 2048]\n";
  return text + "  softmax(q @ transpose(k) * 0.125" + (masked ? " + b" : "") + ") @ v\n}\n";
}

TEST_F(AnalyticGroups, AttentionIsOneOperationWhoseScoresAreNotStored) {
  const DeviceProfile& a100 = *find_device_profile("a100");
  auto price_of = [&](const std::string& text) {
    Graph graph = load(text.c_str());
    auto costs = costs_of("analytic:a100", graph);
    return costs->groups()->price({&graph}).front();
  };
  GroupPrice one = price_of(attention_text("f16", false));
  EXPECT_EQ(one.groups, 1u);
  // Counts both products, which bound the time, since the scores are not stored.
  double flops = 2 * 2.0 * 8 * 2048 * 2048 * 64, bytes = 2.0 * 4 * 8 * 2048 * 64;
  EXPECT_GT(one.microseconds, a100.launch_us + flops / (a100.half_gflops * 1e3 * 0.75));
  EXPECT_LT(bytes / (a100.cache_gbs * 1e3 * 0.8), flops / (a100.half_gflops * 1e3));
  // The library computes a mask incorrectly and refuses strict f32. Two products
  // and a kernel between them run instead, through memory.
  GroupPrice with_mask = price_of(attention_text("f16", true));
  EXPECT_EQ(with_mask.groups, 3u);
  EXPECT_GE(with_mask.microseconds, one.microseconds);
  GroupPrice apart = price_of(attention_text("f32", false));
  EXPECT_EQ(apart.groups, 3u);
}

TEST_F(AnalyticGroups, ConvolutionsInHalfTypesLieChannelsLastAndPayForTheWayThere) {
  auto price_of = [&](const char* dtype, int depth) {
    std::string x = std::string(dtype) + "[8, 64, 56, 56]",
                w = std::string(dtype) + "[64, 64, 3, 3]";
    std::string text =
        "model m(x: " + x + ") -> (y: " + x + ") {\n  param w: " + w + "\n  var a = x\n";
    for (int i = 0; i < depth; ++i) text += "  a = conv2d(a, w, pad = same)\n";
    Graph graph = load((text + "  a\n}\n").c_str());
    auto costs = costs_of("analytic:a100", graph);
    return costs->groups()->price({&graph}).front();
  };
  EXPECT_EQ(price_of("f32", 4).groups, 4u) << "nothing is turned";
  EXPECT_EQ(price_of("f16", 4).groups, 4u + 2) << "there and back";
  double of_one = price_of("f16", 5).microseconds - price_of("f16", 4).microseconds;
  EXPECT_LT(of_one, price_of("f16", 1).microseconds) << "values in between are converted only once";
}

TEST_F(GroupRefinement, CostsWithoutGroupsChangeNothing) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  for (const char* spec : {"analytic:cpu", "analytic:a100"}) {
    OptimizeOptions with = options(Search::Saturate), without = with;
    without.groups = false;
    auto costs = costs_of(spec, source);
    Optimized plain = run(source, all, *costs, without);
    EXPECT_FALSE(plain.report.groups);
    if (costs->groups()) continue;
    Optimized asked = run(source, all, *costs, with);
    EXPECT_FALSE(asked.report.groups);
    EXPECT_EQ(difference(asked.graph, plain.graph), "");
    EXPECT_EQ(asked.report.cost_after_us, plain.report.cost_after_us);
  }
}

TEST_F(AnalyticGroups, NeverDearerAndAlwaysTheSameFunction) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  for (Search search : {Search::None, Search::Saturate, Search::Mcts, Search::Anneal}) {
    auto costs = costs_of("analytic:a100", source);
    ASSERT_TRUE(costs->groups());
    Optimized result = run(source, all, *costs, options(search));
    ASSERT_TRUE(result.report.groups);
    const GroupReport& groups = *result.report.groups;
    ASSERT_TRUE(groups.found);
    EXPECT_LE(groups.after.microseconds, groups.found->microseconds * (1 + 1e-9));
    EXPECT_LE(groups.after.microseconds, groups.before.microseconds * (1 + 1e-9));
    EXPECT_LE(result.report.cost_after_us, result.report.cost_before_us * (1 + 1e-9));
    EXPECT_EQ(costs->groups()->price({&result.graph}).front().microseconds,
              groups.after.microseconds);
    ASSERT_TRUE(result.chain) << result.unexplained;
    EXPECT_TRUE(confirm_chain(result, all, source).ok());
    EXPECT_TRUE(verify_optimized(source, result, all, {}).ok());
  }
}

/// The device prefers as many operators as possible, unlike the operators' prices.
TEST_F(GroupRefinement, TakesGraphsThatAreCheaperByGroups) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  MadeUp costs([](const Graph& graph) { return 100 - static_cast<double>(graph.op_count()); });
  for (Search search : {Search::Saturate, Search::Mcts}) {
    OptimizeOptions how = options(search);
    Optimized refined = run(source, all, costs, how);
    EXPECT_LT(refined.report.groups->after.microseconds,
              refined.report.groups->found->microseconds);
    bool from_others = search == Search::Mcts; // states that the search has visited
    EXPECT_TRUE(from_others || refined.report.groups->moves > 0);
    EXPECT_FALSE(refined.report.optimal);
    EXPECT_EQ(refined.report.groups->after.groups, refined.graph.op_count());
    ASSERT_TRUE(refined.chain) << refined.unexplained;
    EXPECT_TRUE(confirm_chain(refined, all, source).ok());
    how.groups = false;
    EXPECT_LT(run(source, all, costs, how).graph.op_count(), refined.graph.op_count());
  }
}

TEST_F(GroupRefinement, RejectsGraphsThatCostMoreThanTheSourceByGroups) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  MadeUp costs([&](const Graph& graph) { return difference(graph, source).empty() ? 1 : 2; });
  OptimizeOptions how = options(Search::Saturate);
  Optimized kept = run(source, all, costs, how);
  EXPECT_EQ(difference(kept.graph, source), "");
  EXPECT_EQ(kept.report.groups->after.microseconds, 1);
  EXPECT_EQ(kept.report.cost_after_us, kept.report.cost_before_us);
  ASSERT_TRUE(kept.chain);
  EXPECT_TRUE(kept.chain->steps.empty());
}

/// Operators' prices may promise a gain that fusion has realised already.
TEST_F(GroupRefinement, WithoutWholeRunsTheNewGraphHasToGainByGroups) {
  struct NoRuns final : FinalistRunner {
    Result<WholeRuns> compare(const Graph&, const Graph&) override {
      return error(Code::device, "the device is gone");
    }
  };
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  for (bool gains : {false, true}) {
    MadeUp costs(
        [&](const Graph& graph) { return difference(graph, source).empty() || !gains ? 2 : 1; });
    NoRuns runs;
    Result<Optimized> result = optimize(source, all, costs, options(Search::Saturate), &runs);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->report.source_returned, !gains);
    EXPECT_EQ(difference(result->graph, source).empty(), !gains);
    EXPECT_NE(llvm::join(result->report.notes, "\n").find("the device is gone"), std::string::npos);
  }
}

TEST_F(GroupRefinement, SkipsDevicesThatCannotRunTheSource) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  MadeUp costs([](const Graph&) { return std::numeric_limits<double>::infinity(); });
  OptimizeOptions how = options(Search::Saturate);
  Optimized result = run(source, all, costs, how);
  EXPECT_EQ(costs.asked, 1u);
  EXPECT_FALSE(result.report.groups);
  how.groups = false;
  EXPECT_EQ(difference(result.graph, run(source, all, costs, how).graph), "");
}

TEST_F(AnalyticGroups, TheSameInputsGiveTheSameResult) {
  Graph source = load(kBlock);
  std::vector<Rule> all = rules();
  auto costs = costs_of("analytic:h200", source);
  ASSERT_TRUE(costs->groups());
  Optimized first = run(source, all, *costs, options(Search::Saturate));
  Optimized second = run(source, all, *costs, options(Search::Saturate));
  EXPECT_EQ(difference(first.graph, second.graph), "");
  EXPECT_EQ(first.report.groups->priced, second.report.groups->priced);
}

/// The timer of a backend for measured costs.
class MadeUpTimer final : public StepTimer {
public:
  mutable std::vector<MeasureOptions> asked; // of all calls, in order
  std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec>,
                                     const MeasureOptions&) const override {
    return {};
  }
  std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                       const MeasureOptions& options) const override {
    asked.push_back(options);
    std::vector<Result<PlanPrice>> prices;
    for (const Plan* plan : plans) {
      if (plan->steps.size() > 1)
        prices.push_back(error(Code::no_kernel, "too many"));
      else
        prices.push_back(PlanPrice{7, plan->steps.size(), 1});
    }
    return prices;
  }
  std::string conditions(const MeasureOptions&) const override { return "made up"; }
};

TEST_F(GroupRefinement, MeasuredGroupsAreTheTimers) {
  MadeUpTimer timer;
  MeasureOptions how;
  how.cache = CacheState::Cold;
  how.network_bytes = 5;
  MeasuredGroups groups(timer, how);
  Graph one = load("model m(x: f32[8]) -> (y: f32[8]) { tanh(x) }\n");
  Graph two = load("model m(x: f32[8]) -> (y: f32[8]) { exp(tanh(x)) }\n");
  auto prices = groups.price({&one, &two});
  ASSERT_EQ(prices.size(), 2u);
  EXPECT_EQ(prices[0].microseconds, 7);
  EXPECT_EQ(prices[0].groups, 1u);
  EXPECT_TRUE(std::isinf(prices[1].microseconds)) << "a graph that is refused has no price";
  ASSERT_EQ(timer.asked.size(), 1u) << "all at once";
  EXPECT_EQ(timer.asked[0].cache, CacheState::Cold);
  EXPECT_EQ(timer.asked[0].network_bytes, 5);
}

} // namespace
} // namespace tg
