// The price model of a machine over a backend whose times are made up: nothing is timed to ask for
// prices, what matters to a decision is, and a search begins again where prices moved.
#include "compiler/driver/calibrated_cost.h"

#include "compiler/driver/calibration.h"
#include "compiler/extract/cost/instance_text.h"
#include "compiler/ir/graph_equal.h"
#include "compiler/optimizer/optimize.h"
#include "loading.h"
#include "made_up_backend.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/FileSystem.h>

#include <set>

namespace tg {
namespace {

class CalibratedCostTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-calibrated", folder_));
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder_); }

  std::unique_ptr<CalibratedCost> model() {
    MeasuredCostOptions options;
    options.cost_db = folder_.str().str() + "/costs.db";
    options.network_bytes = 16 << 20;
    return std::make_unique<CalibratedCost>(
        std::make_unique<MeasuredCost>(std::make_unique<MadeUpBackend>(timer), options),
        *find_device_profile("cpu"));
  }
  OwnedInstance read(const std::string& key) {
    auto found = read_instance(symbols, key);
    EXPECT_TRUE(found) << key;
    return *found;
  }

  MadeUpTimer timer;
  Symbols symbols;

private:
  llvm::SmallString<128> folder_;
};

TEST_F(CalibratedCostTest, AskingForPricesTimesNothing) {
  OwnedInstance relu = read("relu(f32[1048576])");
  auto costs = model();
  EXPECT_GT(costs->price(symbols, relu.instance()), 0);
  EXPECT_EQ(timer.timed, 0u);
  EXPECT_EQ(costs->name(), "calibrated:made_up");
}

TEST_F(CalibratedCostTest, WhatMattersIsTimedAndKept) {
  OwnedInstance large = read("relu(f32[1048576])"), small = read("relu(f32[16])");
  timer.times["relu(f32[1048576])"] = 777;
  {
    auto costs = model();
    PriceUse uses[] = {{large.instance(), 1}, {small.instance(), 1}};
    EXPECT_TRUE(costs->settle(symbols, uses, 1000, {}));
    EXPECT_EQ(timer.timed, 1u) << "the small one cannot matter";
    EXPECT_EQ(costs->price(symbols, large.instance()), 777);
    EXPECT_FALSE(costs->settle(symbols, uses, 1000, {})) << "nothing is left to be found out";
    EXPECT_EQ(timer.timed, 1u);
  }
  EXPECT_EQ(model()->price(symbols, large.instance()), 777) << "kept in the database";
  EXPECT_EQ(model()->samples(), 1u);
}

TEST_F(CalibratedCostTest, WhatIsKnownWellEnoughIsNotTimed) {
  auto costs = model();
  std::vector<OwnedInstance> kept;
  for (int64_t n : {4000, 5000, 6000, 7000, 9000, 10000, 11000, 12000})
    kept.push_back(read("relu(f32[" + std::to_string(n * 100) + "])"));
  std::vector<OpInstance> instances;
  for (const OwnedInstance& one : kept) instances.push_back(one.instance());
  EXPECT_EQ(costs->time(symbols, instances, {}).size(), 8u);
  size_t before = timer.timed;
  OwnedInstance between = read("relu(f32[800000])");
  PriceUse uses[] = {{between.instance(), 1}};
  double guessed = costs->guess(symbols, between.instance()).microseconds;
  EXPECT_FALSE(costs->settle(symbols, uses, 100 * guessed, {}));
  EXPECT_EQ(timer.timed, before);
}

TEST_F(CalibratedCostTest, WhatCannotBeTimedIsNotChosen) {
  OwnedInstance large = read("relu(f32[1048576])");
  timer.refused.insert("relu(f32[1048576])");
  auto costs = model();
  PriceUse uses[] = {{large.instance(), 1}};
  EXPECT_TRUE(costs->settle(symbols, uses, 1000, {}));
  EXPECT_TRUE(std::isinf(costs->price(symbols, large.instance())));
}

TEST_F(CalibratedCostTest, ASurpriseIsTimedAgainAndTheLesserTimeCounts) {
  auto costs = model();
  std::vector<OwnedInstance> kept;
  for (int64_t n = 50; n < 80; ++n)
    kept.push_back(read("relu(f32[" + std::to_string(n * 10000) + "])"));
  std::vector<OpInstance> instances;
  for (const OwnedInstance& one : kept) instances.push_back(one.instance());
  (void)costs->time(symbols, instances, {});
  OwnedInstance disturbed = read("relu(f32[655000])");
  std::string key = "relu(f32[655000])";
  double usual = costs->guess(symbols, disturbed.instance()).microseconds;
  timer.first_times[key] = 20 * usual; // others computed
  timer.times[key] = usual;
  (void)costs->time(symbols, disturbed.instance(), {});
  EXPECT_NEAR(costs->price(symbols, disturbed.instance()), usual, 1e-6 * usual);
}

TEST_F(CalibratedCostTest, NothingIsTimedOnceTheTimeIsOver) {
  OwnedInstance large = read("relu(f32[1048576])");
  auto costs = model();
  PriceUse uses[] = {{large.instance(), 1}};
  EXPECT_FALSE(costs->settle(symbols, uses, 1000, StopToken().within(0)));
  EXPECT_EQ(timer.timed, 0u);
}

struct SettledSearch : test::Loading {
  MadeUpTimer timer;
  Graph source = load("model m(x: f32[256, 256]) -> (y: f32[256, 256]) {\n"
                      "  param w: f32[256, 256]\n  relu(x @ w)\n}\n");

  Optimized optimised() {
    MeasuredCostOptions options;
    options.cost_db = "/dev/null/none"; // no file can be there: all stays in memory
    CalibratedCost costs(
        std::make_unique<MeasuredCost>(std::make_unique<MadeUpBackend>(timer), options),
        *find_device_profile("cpu"));
    Result<Optimized> result = optimize(source, rules(), costs, {}, nullptr);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
};

TEST_F(SettledSearch, BeginsAgainWhereWhatItFoundIsDearerThanGuessed) {
  timer.times["matmul(f32[256, 256], w f32[256, 256], none, none) {act = relu}"] = 1e6;
  Optimized result = optimised();
  EXPECT_GE(result.report.searches, 2u);
  EXPECT_FALSE(result.report.changed) << "the fused product was a guess, and a wrong one";
  EXPECT_EQ(result.report.cost_after_us, result.report.cost_before_us);
}

TEST_F(SettledSearch, TakesWhatIsCheaperOnceTimed) {
  timer.times["matmul(f32[256, 256], w f32[256, 256], none, none) {act = none}"] = 500;
  timer.times["relu(f32[256, 256])"] = 100;
  timer.times["matmul(f32[256, 256], w f32[256, 256], none, none) {act = relu}"] = 501;
  Optimized result = optimised();
  EXPECT_TRUE(result.report.changed);
  EXPECT_EQ(result.report.cost_before_us, 600);
  EXPECT_EQ(result.report.cost_after_us, 501);
}

TEST(Calibration, KeysAreInstancesEachOnce) {
  std::vector<std::string> keys = calibration_keys();
  EXPECT_GE(keys.size(), 1000u);
  llvm::StringSet<> seen;
  std::set<std::string> operators;
  for (const std::string& key : keys) {
    Symbols symbols;
    std::optional<OwnedInstance> read = read_instance(symbols, key);
    ASSERT_TRUE(read) << key;
    EXPECT_EQ(instance_key(symbols, read->instance()), key);
    EXPECT_TRUE(seen.insert(key).second) << key;
    if (seen.size() <= 100) operators.insert(key.substr(0, key.find('(')));
  }
  for (const char* name : {"conv2d", "matmul", "winograd_conv2d", "fused_map"})
    EXPECT_TRUE(operators.count(name)) << name << " is among the first";
  EXPECT_EQ(keys, calibration_keys()) << "always the same list";
}

} // namespace
} // namespace tg
