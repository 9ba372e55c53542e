// Measuring plans are sound and say what they must; times come from the steps that they should.
#include "runtime/measure.h"
#include "runtime/ref/backend.h"

#include <gtest/gtest.h>

#include <set>

namespace tg {
namespace {

StepSpec conv(int in_place) {
  StepSpec spec;
  spec.op = OpKind::Conv2d;
  spec.attrs = {Value::of_ints({1, 1}), Value::of_enum("same"), Value::of_ints({1, 1}),
                Value::of_enum("relu")};
  spec.operands = {f32({1, 4, 8, 8}), f32({4, 4, 3, 3}), TensorType{}, f32({1, 4, 8, 8})};
  spec.result = f32({1, 4, 8, 8});
  spec.weight_operands = 0b0110;
  spec.in_place = in_place;
  return spec;
}

TEST(MeasurePlan, IsSound) {
  for (int64_t wash : {int64_t{0}, int64_t{1} << 20}) {
    for (int in_place : {-1, 3}) {
      MeasurePlan measure = make_measure_plan(conv(in_place), wash);
      EXPECT_EQ(verify(measure.plan), "") << dump(measure.plan);
      ASSERT_GT(measure.copies.size(), 1u);
      std::set<PlanValueId> weights;
      for (PlanStepId id : measure.copies) {
        const PlanStep& timed = measure.plan.steps[id];
        EXPECT_EQ(timed.op, OpKind::Conv2d);
        EXPECT_EQ(timed.operands[2], kNoValue);
        EXPECT_EQ(timed.in_place, in_place < 0 ? kNoValue : timed.operands[3]);
        EXPECT_EQ(measure.plan.values[timed.operands[0]].kind, PlanValue::Kind::Temporary);
        EXPECT_EQ(measure.plan.values[timed.operands[1]].kind, PlanValue::Kind::Weight);
        weights.insert(timed.operands[1]);
      }
      EXPECT_EQ(weights.size(), measure.copies.size()) << "cold weights: no two copies share them";
      EXPECT_EQ(measure.plan.steps.size(), (wash > 0) + 3 * measure.copies.size());
    }
  }
}

TEST(MeasureSteps, TimesEachAndReportsWhatCannotBeTimed) {
  std::unique_ptr<Backend> backend = make_ref_backend();
  StepSpec small = conv(3), large = conv(-1), huge = conv(-1);
  large.operands[0] = large.operands[3] = large.result = f32({1, 4, 64, 64});
  huge.operands[0] = huge.operands[3] = huge.result = f32({1, 4, 1 << 14, 1 << 14});
  std::vector<StepSpec> specs{small, large, huge, small, large, small};
  auto times = measure_steps(*backend, specs,
                             {.rounds = 2, .runs = 3, .memory_limit_bytes = int64_t{64} << 20});
  ASSERT_EQ(times.size(), specs.size());
  for (size_t i : {0, 1, 3, 4, 5}) {
    ASSERT_TRUE(times[i]) << times[i].error().message;
    EXPECT_GT(times[i]->microseconds, 0);
    EXPECT_GE(times[i]->runs, 2);
    EXPECT_NE(times[i]->implementation.find("ref"), std::string::npos);
  }
  // Sixty-four times the work: no noise turns this round.
  EXPECT_GT(times[1]->microseconds, times[0]->microseconds);
  ASSERT_FALSE(times[2]);
  EXPECT_EQ(times[2].error().code, Code::memory_limit);
}

TEST(WashBytes, ArePowersOfTwoWithinBounds) {
  EXPECT_EQ(wash_bytes_for(0), 1 << 20);
  EXPECT_EQ(wash_bytes_for(3 << 20), 2 << 20);
  EXPECT_EQ(wash_bytes_for(8 << 20), 8 << 20);
  EXPECT_EQ(wash_bytes_for(INT64_MAX), 16 << 20);
}

} // namespace
} // namespace tg
