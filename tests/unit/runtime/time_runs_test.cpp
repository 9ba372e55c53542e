// How often programs run when they are timed; no clock decides anything here.
#include "runtime/measure/time_runs.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// Counts its runs.
class FakeExecutable : public Executable {
public:
  int runs = 0;
  Result<void> bind_inputs(llvm::ArrayRef<Tensor>) override { return {}; }
  Result<void> run_once() override {
    ++runs;
    return {};
  }
  Result<std::vector<Tensor>> outputs() const override { return std::vector<Tensor>(); }
  std::vector<StepInfo> steps() const override { return {}; }
  MemoryUse memory() const override { return {}; }
  void profile(bool) override {}
};

TEST(Timing, RunsAsOftenAsAsked) {
  FakeExecutable one, two;
  auto timing = time_runs(one, {.runs = 7, .warmup = 3});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->runs, 7u);
  EXPECT_EQ(one.runs, 10);
  auto comparison = time_in_turns(one, two, {.runs = 4, .warmup = 1});
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ(two.runs, 5);
  EXPECT_EQ(comparison->first.runs, comparison->second.runs);
}

} // namespace
} // namespace tg
