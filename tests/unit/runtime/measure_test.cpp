// Tests that measuring plans are sound and complete, and that each time belongs to the right step.
#include "runtime/convert.h"
#include "runtime/measure/measure.h"
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
      MeasurePlan measure = make_measure_plan({conv(in_place), conv(in_place)}, wash);
      EXPECT_EQ(verify(measure.plan), "") << dump(measure.plan);
      ASSERT_EQ(measure.copies.size(), 2u);
      std::set<PlanValueId> weights;
      size_t copies = 0;
      for (const std::vector<PlanStepId>& of_one : measure.copies) {
        ASSERT_GT(of_one.size(), 1u);
        copies += of_one.size();
        for (PlanStepId id : of_one) {
          const PlanStep& timed = measure.plan.steps[id];
          EXPECT_EQ(timed.op, OpKind::Conv2d);
          EXPECT_EQ(timed.operands[2], kNoValue);
          EXPECT_EQ(timed.in_place, in_place < 0 ? kNoValue : timed.operands[3]);
          EXPECT_EQ(measure.plan.values[timed.operands[0]].kind, PlanValue::Kind::Temporary);
          EXPECT_EQ(measure.plan.values[timed.operands[1]].kind, PlanValue::Kind::Weight);
          weights.insert(timed.operands[1]);
        }
      }
      EXPECT_EQ(weights.size(), copies) << "cold weights: no two copies share them";
      EXPECT_EQ(measure.plan.steps.size(), (wash > 0) + 3 * copies);
    }
  }
}

/// An executable whose steps take as many microseconds as their numbers. Before each,
/// an internal step of the backend takes 1000. Views are listed at no cost.
class NumberedSteps final : public Executable {
public:
  explicit NumberedSteps(const Plan& plan) {
    for (PlanStepId i = 0; i < plan.steps.size(); ++i) {
      OpKind op = plan.steps[i].op;
      bool view = op_info(op).has(Trait::View);
      StepInfo own, step;
      own.measured_us = 1000;
      step.step = i;
      step.measured_us = view ? 0 : i;
      step.implementation = view ? "view" : op == OpKind::Conv2d ? "conv" : "other";
      if (!view) infos_.push_back(own);
      infos_.push_back(step);
    }
  }
  Result<void> bind_inputs(llvm::ArrayRef<Tensor>) override { return {}; }
  Result<void> run_once() override { return {}; }
  Result<std::vector<Tensor>> outputs() const override { return std::vector<Tensor>{}; }
  std::vector<StepInfo> steps() const override { return infos_; }
  MemoryUse memory() const override { return {}; }
  void profile(bool) override {}

private:
  std::vector<StepInfo> infos_;
};

/// Refuses plans with images of more than 1 MiB, and counts the plans.
class NumberedBackend final : public Backend {
public:
  std::string name() const override { return "numbered"; }
  std::string description() const override { return "numbered"; }
  bool supports(const Plan&, const PlanStep&) const override { return true; }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions&) const override {
    ++plans;
    for (const PlanValue& value : plan.values)
      if (value.type.rank() == 4 && value.type.bytes() > 1 << 20)
        return error(Code::memory_limit, "large");
    return std::unique_ptr<Executable>(std::make_unique<NumberedSteps>(plan));
  }
  mutable int plans = 0;
};

StepSpec view_of(const TensorType& from, const TensorType& to) {
  StepSpec spec;
  spec.op = OpKind::Reshape;
  spec.attrs = {Value::of_ints(to.shape)};
  spec.operands = {from};
  spec.result = to;
  return spec;
}

TEST(MeasureSteps, GivesEachStepOfAPlanItsOwn) {
  NumberedBackend backend;
  std::vector<StepSpec> specs{conv(-1), view_of(f32({4, 4}), f32({16})), conv(3)};
  auto times = measure_steps(backend, specs, {.wash_bytes = 60 << 10, .rounds = 2, .runs = 3});
  EXPECT_EQ(backend.plans, 1);
  ASSERT_EQ(times.size(), 3u);
  for (auto& time : times) ASSERT_TRUE(time);
  // The wash, then eight copies, each after the steps that create two operands: steps 3, 6, .. 24.
  // The first copy is a warm-up, so that the median is the fifth. Each of the 25 steps has an
  // internal step before it.
  EXPECT_EQ(times[0]->microseconds, 15 + 25 * 1000 / 8.0);
  EXPECT_EQ(times[0]->implementation, "conv");
  EXPECT_EQ(times[1]->microseconds, 0 + 8 * 1000 / 8.0); // before the steps that create operands
  EXPECT_EQ(times[1]->implementation, "view");
  EXPECT_EQ(times[2]->microseconds, (25 + 16) + 14 + 24 * 1000 / 8.0);
  EXPECT_EQ(times[2]->runs, 6);
}

TEST(MeasureSteps, TimesStepsAloneWhenTogetherTheyDoNotFit) {
  NumberedBackend backend;
  StepSpec large = conv(-1);
  large.operands[0] = large.operands[3] = large.result = f32({1, 4, 512, 512});
  auto times = measure_steps(backend, {conv(-1), large, conv(-1)},
                             {.wash_bytes = 64 << 20, .rounds = 1, .runs = 1});
  EXPECT_EQ(backend.plans, 1 + 3);
  EXPECT_TRUE(times[0]);
  ASSERT_FALSE(times[1]);
  EXPECT_EQ(times[1].error().code, Code::memory_limit);
  EXPECT_TRUE(times[2]);
}

TEST(MeasureSteps, TimesStepsAloneWhenTheyTouchMoreThanTheWash) {
  NumberedBackend backend;
  auto times = measure_steps(backend, {conv(-1), conv(-1), conv(-1), conv(-1)},
                             {.wash_bytes = 60 << 10, .rounds = 1, .runs = 1});
  EXPECT_EQ(backend.plans, 2); // 29 KiB each
  EXPECT_EQ(times.size(), 4u);
}

TEST(MeasurePlan, IsWashedByTheOtherSteps) {
  auto wash_of = [](llvm::ArrayRef<StepSpec> specs) {
    MeasurePlan measure = make_measure_plan(specs, 1 << 20);
    return 2 * measure.plan.values[measure.plan.steps[0].result].type.bytes();
  };
  int64_t copies = 8 * (3 * 1024 + 4 * 4 * 9 * 4);
  EXPECT_EQ(wash_of(conv(-1)), 1 << 20);
  EXPECT_EQ(wash_of({conv(-1), conv(-1), conv(-1)}), (1 << 20) - 2 * copies);
}

TEST(PlainNumbers, RepeatAfterSixtyOne) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Tensor tensor = *plain_numbers(TensorType{dtype, {1000}});
    std::vector<double> numbers(1000);
    widen(dtype, tensor.data(), numbers.data(), 1000);
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], numbers[i % 61]) << i;
    EXPECT_EQ(numbers[0], 0.25);
    EXPECT_NEAR(numbers[60], 0.25 + 60 * 0.0078125, 0.004);
  }
}

TEST(MeasureSteps, TimesEachStepAndReportsFailures) {
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
  // Sixty-four times the work, which exceeds all noise.
  EXPECT_GT(times[1]->microseconds, times[0]->microseconds);
  ASSERT_FALSE(times[2]);
  EXPECT_EQ(times[2].error().code, Code::memory_limit);
}

/// An executable whose steps take scripted times, round by round. After the script,
/// the last repeats.
class ScriptedSteps final : public Executable {
public:
  ScriptedSteps(const Plan& plan, std::vector<double> rounds) : rounds_(std::move(rounds)) {
    for (PlanStepId i = 0; i < plan.steps.size(); ++i) infos_.emplace_back().step = i;
  }
  Result<void> bind_inputs(llvm::ArrayRef<Tensor>) override { return {}; }
  Result<void> run_once() override { return {}; }
  Result<std::vector<Tensor>> outputs() const override { return std::vector<Tensor>{}; }
  std::vector<StepInfo> steps() const override { return infos_; }
  MemoryUse memory() const override { return {}; }
  void profile(bool) override {
    for (StepInfo& info : infos_) info.measured_us = rounds_[round_];
    if (round_ + 1 < rounds_.size()) ++round_;
  }

private:
  std::vector<double> rounds_;
  size_t round_ = 0;
  std::vector<StepInfo> infos_;
};

class ScriptedBackend final : public Backend {
public:
  explicit ScriptedBackend(std::vector<double> rounds) : rounds_(std::move(rounds)) {}
  std::string name() const override { return "scripted"; }
  std::string description() const override { return "scripted"; }
  bool supports(const Plan&, const PlanStep&) const override { return true; }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions&) const override {
    return std::unique_ptr<Executable>(std::make_unique<ScriptedSteps>(plan, rounds_));
  }

private:
  std::vector<double> rounds_;
};

/// Returns scripted answers. After the script, the last repeats.
class ScriptedWatch final : public MachineWatch {
public:
  explicit ScriptedWatch(std::vector<bool> rounds) : rounds_(std::move(rounds)) {}
  Disturbance disturbance() override {
    bool before = asked_++ == 0; // for the time before the first round
    bool quiet = !before && rounds_[std::min(asked_ - 2, rounds_.size() - 1)];
    return quiet ? Disturbance::None : Disturbance::Slight;
  }

private:
  std::vector<bool> rounds_;
  size_t asked_ = 0;
};

/// Times one step in rounds of one run with these times, disturbed or not.
/// Five rounds are the default.
StepTime scripted_time(std::vector<double> rounds, std::vector<bool> quiet, double seconds = 60) {
  ScriptedWatch watch(std::move(quiet));
  auto times = measure_steps(ScriptedBackend(std::move(rounds)), conv(-1),
                             {.rounds = 5, .runs = 1, .seconds = seconds, .watch = &watch});
  EXPECT_TRUE(times.front());
  return times.front() ? *times.front() : StepTime();
}

TEST(SteadyTimes, AreLeastFiguresThatWereRepeated) {
  StepTime time = scripted_time({130, 109, 100, 120, 125}, {true});
  EXPECT_TRUE(time.steady);
  EXPECT_EQ(time.microseconds, 100);
  EXPECT_EQ(time.runs, 5);
}

TEST(SteadyTimes, ComeAfterFurtherRoundsWhereTheUsualOnesDiffer) {
  StepTime time = scripted_time({130, 115, 100, 120, 125, 140, 108, 300}, {true});
  EXPECT_TRUE(time.steady);
  EXPECT_EQ(time.microseconds, 100);
  EXPECT_EQ(time.runs, 7);
}

TEST(SteadyTimes, RequireTwoUndisturbedRounds) {
  // If other programs compute in every round, the time is never steady, even if the rounds agree.
  StepTime busy = scripted_time({100}, {false});
  EXPECT_FALSE(busy.steady);
  EXPECT_EQ(busy.microseconds, 100);
  EXPECT_EQ(busy.runs, 10) << "as many rounds again, and no more";
  EXPECT_FALSE(scripted_time({100}, {true, false}).steady);
  // When they end, two undisturbed rounds suffice.
  StepTime later = scripted_time({200, 200, 200, 200, 200, 200, 100},
                                 {false, false, false, false, false, false, true});
  EXPECT_TRUE(later.steady);
  EXPECT_EQ(later.microseconds, 100);
  EXPECT_EQ(later.runs, 8);
}

TEST(SteadyTimes, AreNotAboveTheLeast) {
  StepTime time = scripted_time({100, 200}, {false, true});
  EXPECT_FALSE(time.steady);
  EXPECT_EQ(time.microseconds, 100) << "what others add cannot make it less";
}

TEST(SteadyTimes, TolerateTheResolutionOfTheClock) {
  EXPECT_TRUE(scripted_time({1, 1.3, 1.5}, {true}).steady);
  EXPECT_FALSE(scripted_time({1, 1.5}, {true}).steady);
}

TEST(SteadyTimes, CostOneRoundMoreWhereTimeIsUp) {
  EXPECT_EQ(scripted_time({100}, {true}, 0).runs, 2);
  EXPECT_EQ(scripted_time({100}, {false}, 0).runs, 3);
}

TEST(WashBytes, ArePowersOfTwoWithinBounds) {
  EXPECT_EQ(wash_bytes_for(0), 1 << 20);
  EXPECT_EQ(wash_bytes_for(3 << 20), 2 << 20);
  EXPECT_EQ(wash_bytes_for(8 << 20), 8 << 20);
  EXPECT_EQ(wash_bytes_for(INT64_MAX), 64 << 20);
}

} // namespace
} // namespace tg
