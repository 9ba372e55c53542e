// Tests the optimisation of models with open sizes by the public API.
#include "tests/unit/api/public_api.h"

#include <numeric>

namespace tangram {
namespace {

OptimizeOptions by_prices() {
  OptimizeOptions options{.time_limit_s = 60}; // they end long before
  options.cost = CostSpec::analytic("cpu");
  return options;
}

const char* const kOpen = "model m(x: f32[N, S, 8], N: int in 1.. = 2, S: int in 1..512 = 64) {\n"
                          "  param w: f32[8, 8]\n  param v: f32[8, 8]\n"
                          "  relu(relu(x @ w + x @ v)) + 0.0\n}\n";

TEST(OpenSizes, AreListedAndInstantiated) {
  Model model = parsed(kOpen);
  std::vector<OpenSize> open = model.open_sizes();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].name, "N");
  EXPECT_EQ(open[0].most, std::nullopt);
  EXPECT_EQ(open[1].least, 1);
  EXPECT_EQ(open[1].most, 512);
  EXPECT_EQ(open[1].sample, 64);
  EXPECT_EQ(model.inputs()[0].shape, (std::vector<int64_t>{2, 64, 8}));
  auto other = model.at({{"S", 77}});
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->inputs()[0].shape, (std::vector<int64_t>{2, 77, 8}));
  EXPECT_TRUE(other->open_sizes().empty());
  EXPECT_EQ(model.at({{"S", 513}}).error().diagnostics[0].code, "E0216");
  EXPECT_NE(model.at({{"T", 3}}).error().text().find("no open size `T`"), std::string::npos);
  auto fixed = parse(kOpen, "m.tg", {.set = {{"S", "5"}}});
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->open_sizes().size(), 1u);
}

TEST(OpenSizes, KeepTheWeightsOfTheModel) {
  std::vector<float> w(64, 0.5f), v(64, -0.25f);
  auto model = with_weights(parsed(kOpen), {{"w", {w.data(), DType::F32, {8, 8}}},
                                            {"v", {v.data(), DType::F32, {8, 8}}}});
  ASSERT_TRUE(model) << model.error().text();
  auto best = optimize(*model, by_prices());
  ASSERT_TRUE(best) << best.error().text();
  for (int64_t n : {1, 3}) {
    Sizes sizes = {{"N", n}, {"S", 5}};
    std::vector<Tensor> inputs = {ramp({n, 5, 8})};
    auto at = best->at(sizes);
    ASSERT_TRUE(at) << at.error().text();
    EXPECT_LT(at->model.op_count(), model->op_count());
    std::vector<Tensor> expected = run(*model->at(sizes), inputs);
    EXPECT_LT(largest_difference(expected, run(at->model, inputs)), 1e-5);
    EXPECT_FLOAT_EQ(expected[0].data[0],
                    std::max(0.0f, 0.25f * std::accumulate(inputs[0].data.begin(),
                                                           inputs[0].data.begin() + 8, 0.0f)));
  }
}

TEST(OpenSizes, AreOptimisedByOneSearchWhereItServes) {
  auto best = optimize(parsed(kOpen), by_prices());
  ASSERT_TRUE(best) << best.error().text();
  ASSERT_EQ(best->report.recipes.size(), 1u);
  EXPECT_EQ(best->recipes.size(), 1u);
  EXPECT_EQ(best->report.recipes[0].sizes, "N in 1.., S in 1..512");
  EXPECT_EQ(best->report.recipes[0].searched_at, "N = 2, S = 64");
  EXPECT_EQ(best->report.open_sizes, (std::vector<std::string>{"N in 1..", "S in 1..512"}));
  EXPECT_GT(best->report.tried.size(), 5u);
  for (const SizeTrial& trial : best->report.tried) {
    EXPECT_EQ(trial.recipe, 0u);
    EXPECT_LE(trial.cost_after_us, trial.cost_before_us) << trial.at;
  }
  EXPECT_EQ(best->at({{"S", 0}}).error().diagnostics[0].code, "E0216");
  auto closed = optimize(parsed(kTwins), by_prices());
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->recipes.empty() && closed->report.tried.empty());
  EXPECT_EQ(closed->at({}).error().diagnostics[0].code, "E0601");
}

/// A rule whose condition holds for large sizes only, and a cheaper form of small ones: one recipe
/// cannot serve both, and the interval of each ends where the condition changes.
TEST(OpenSizes, AreDividedWhereOneRecipeLoses) {
  const char* text = "model m(x: f32[S, 64], S: int in 1..256 = 200) {\n"
                     "  exp(log(x)) + exp(log(x * 2.0))\n}\n";
  OptimizeOptions options = by_prices();
  options.rules = {"add_zero"};
  options.trust_rules = true;
  options.numerics = Numerics::All;
  options.rule_text = "rule large(x) { exp(log(x)) => x where rank(x) == 2, dim(x, 0) >= 100 }\n"
                      "rule small(x) { exp(log(x)) => x where rank(x) == 2, dim(x, 0) < 100 }\n";
  auto best = optimize(parsed(text), options);
  ASSERT_TRUE(best) << best.error().text();
  ASSERT_EQ(best->report.recipes.size(), 2u) << best->report_json;
  EXPECT_EQ(best->report.recipes[0].sizes, "S in 1..99");
  EXPECT_EQ(best->report.recipes[1].sizes, "S in 100..256");
  for (int64_t size : {1, 2, 97, 99, 100, 101, 256}) {
    auto at = best->at({{"S", size}});
    ASSERT_TRUE(at) << at.error().text();
    EXPECT_EQ(at->skipped, 0u) << size;
    EXPECT_EQ(at->model.op_count(), 2u) << size;
  }
}

TEST(OpenSizes, AreRefusedWhereTypesDoNotHoldInTheRange) {
  Model model = parsed("model m(x: f32[S], y: f32[T], S: int in 2..9 = 3, T: int in 2..9 = 3) {\n"
                       "  x + y\n}\n");
  auto best = optimize(model, by_prices());
  ASSERT_FALSE(best);
  EXPECT_NE(best.error().text().find("within S in 2..9, T in 2..9"), std::string::npos)
      << best.error().text();
}

} // namespace
} // namespace tangram
