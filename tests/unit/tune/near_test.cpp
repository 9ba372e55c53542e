// Tests programs that plans may try for operators that were never tuned:
// those of their nearest neighbours, which are measured once before they are used.
#include "runtime/tune/near.h"

#include "runtime/tune/plan_session.h"
#include "runtime/tune/ranges.h"

#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/synthetic_plan.h"

#include <gtest/gtest.h>

namespace tg::tune {
namespace {

constexpr const char* kOut = "BMM [1, 128, 256 | 256]";
constexpr const char* kUp = "BMM [1, 128, 512 | 256]";
constexpr const char* kFar = "BMM [1, 1024, 8192 | 4096]";
constexpr const char* kOther = "C2D [1, 64, 28, 28 | 64, 3, 3]";

class Near : public testing::Test {
protected:
  void SetUp() override {
    for (const char* one : {kOut, kFar}) {
      SyntheticPlan device({one}, store);
      PlanTuneOptions options;
      options.trials = 200;
      tune_plan(device, options, [](const PlanTuneLine&) {});
    }
    tuned = store;
  }
  Store store, tuned;
};

TEST_F(Near, TheNearestIsTheOneWithTheLeastRatios) {
  Operator out = *read_operator(kOut), up = *read_operator(kUp), far = *read_operator(kFar);
  EXPECT_EQ(distance(up, up), 0);
  EXPECT_LT(distance(up, out), distance(up, far));
  EXPECT_EQ(distance(up, out), distance(out, up));
  EXPECT_GT(distance(*read_operator("C2D [1, 64, 28, 28 | 64, 3, 3] stride 2, 2"),
                     *read_operator(kOther)),
            0);
}

TEST_F(Near, LikelyProgramsAreLegalAndFewAndByFeatures) {
  SyntheticPlan device({kUp}, store);
  Operator up = *read_operator(kUp);
  Nest nest = nest_of(up);
  const Program& reused = tuned.at(kOut).best.program;
  std::vector<Program> likely = likely_programs(up, reused, device, 3);
  ASSERT_EQ(likely.size(), 3u);
  FeatureRanges ranges = feature_ranges(growth(up, reused.op));
  Features from = features(reused, nest_of(reused.op));
  for (const Program& program : likely) {
    EXPECT_EQ(device.why_not(program, nest), "");
    EXPECT_EQ(program.op, up);
    Features to = features(program, nest);
    EXPECT_GE(to.threads, 0.5 * from.threads * ranges.threads.low);
    EXPECT_LE(to.threads, 2 * from.threads * ranges.threads.high);
  }
  EXPECT_EQ(device.measured(), 0) << "no trial";
  device.blocks_chosen = 0;
  EXPECT_TRUE(likely_programs(up, reused, device, 3, [] { return true; }).empty()) << "too late";
  int asked = 0; // the time limit is reached during the choice of a block
  EXPECT_TRUE(likely_programs(up, reused, device, 3, [&] { return ++asked > 1; }).empty());
  EXPECT_EQ(device.blocks_chosen, 0);
}

/// Far more than necessary, also on a busy machine under sanitizers.
constexpr NearOptions kPatient = {.milliseconds = 600'000};

TEST_F(Near, KeepsFasterProgramsFromWhichTheTunerContinues) {
  SyntheticPlan device({kUp, kOut, kOther}, store);
  NearReport report = try_near(device, kPatient);
  EXPECT_EQ(report.asked, 2u);
  EXPECT_EQ(report.alone, 1u) << "of its type nothing was tuned";
  EXPECT_EQ(report.tried, 1u);
  EXPECT_EQ(report.faster, 1u);
  ASSERT_TRUE(store.count(kUp));
  EXPECT_FALSE(store.count(kOther));
  EXPECT_TRUE(store.at(kUp).faster && store.at(kUp).cut_off);
  EXPECT_EQ(store.at(kOut).best.program, tuned.at(kOut).best.program);
  EXPECT_EQ(device.measured(), 0);
  EXPECT_EQ(device.compared, 1);

  EXPECT_EQ(try_near(device, kPatient).tried, 0u) << "once";
  PlanTuneReport tuned_now = tune_plan(device, {}, [](const PlanTuneLine&) {});
  EXPECT_GT(tuned_now.trials, 0);
  EXPECT_FALSE(store.at(kUp).cut_off);
}

TEST_F(Near, StoresThatAProgramIsNotFaster) {
  SyntheticPlan device({kUp}, store);
  device.untuned_us = 1e-3;
  EXPECT_EQ(try_near(device, kPatient).tried, 1u);
  EXPECT_FALSE(store.at(kUp).faster);
  EXPECT_EQ(try_near(device, kPatient).asked, 0u);
}

TEST_F(Near, NothingIsTriedWithoutTimeAndNothingKeptThatIsNotDecided) {
  SyntheticPlan device({kUp}, store);
  EXPECT_EQ(try_near(device, {}).tried, 0u);
  device.comparison_us = 2e6;
  EXPECT_EQ(try_near(device, {.milliseconds = 1000}).tried, 0u);
  EXPECT_EQ(store.size(), tuned.size());
}

} // namespace
} // namespace tg::tune
