// Tests how often timed programs run, without a clock.
#include "runtime/measure/time_runs.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// Counts its runs, and requests a stop in one of them.
class FakeExecutable : public Executable {
public:
  int runs = 0, last = -1;
  Cancellation wish;
  Result<void> bind_inputs(llvm::ArrayRef<Tensor>) override { return {}; }
  Result<void> run_once() override {
    if (++runs == last) wish.request();
    return {};
  }
  Result<std::vector<Tensor>> outputs() const override { return std::vector<Tensor>(); }
  std::vector<StepInfo> steps() const override { return {}; }
  MemoryUse memory() const override { return {}; }
  void profile(bool) override {}
};

TEST(Timing, RunsTheRequestedNumberOfTimes) {
  FakeExecutable one, two;
  auto timing = time_runs(one, {.runs = 7, .warmup = 3});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->runs, 7u);
  EXPECT_EQ(one.runs, 10);
  auto comparison = time_interleaved(one, two, {.runs = 4, .warmup = 1});
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ(two.runs, 5);
  EXPECT_EQ(comparison->first.runs, comparison->second.runs);
  EXPECT_FALSE(comparison->cut);
}

/// One or two runs are never conclusive.
TEST(Timing, AComparisonThatEndedEarlyIsMarked) {
  for (int last : {1, 2, 5, 6}) {
    FakeExecutable one, two;
    two.last = last;
    auto times = time_interleaved(
        one, two, {.warmup = 0, .min_runs = 5, .seconds = 0, .stop = StopToken(&two.wish)});
    ASSERT_TRUE(times.ok());
    EXPECT_EQ(times->first.runs, static_cast<size_t>(std::min(last, 5)));
    EXPECT_EQ(times->cut, last < 5) << last;
  }
}

} // namespace
} // namespace tg
