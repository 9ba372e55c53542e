// Tests the choice between two kernels for an operator: the stored choices, plans that follow them,
// and the effect of a measurement. The tests do not depend on which kernel is faster.
#include "runtime/cpu/handles.h"
#include "runtime/cpu/lowering/kernel_choice.h"
#include "runtime/cpu/tuning/choose_kernels.h"
#include "runtime/cpu/tuning/kernel_choices.h"
#include "runtime/cpu/tuning/tuned_programs.h"

#include "tests/unit/cpu/compare.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

namespace tg::cpu {
namespace {

/// A product and two equal convolutions.
Plan small_plan() {
  test::Builder b;
  NodeId y = b.input("x", {1, 32, 12, 12});
  for (const char* name : {"one", "two"})
    y = b.op(OpKind::Conv2d, {y, b.weight(name, {32, 32, 3, 3}), b.none(), b.none()},
             {test::pair(1, 1), Value::of_ints({1, 1, 1, 1}), test::pair(1, 1), test::act("relu")});
  b.output(y);
  b.output(
      b.op(OpKind::Matmul,
           {b.input("rows", {24, 96}), b.weight("w", {96, 80}), b.weight("bias", {80}), b.none()},
           {test::act("tanh")}));
  return plan_from_graph(b.graph);
}

/// Returns, for each product and convolution, true if it runs on an own kernel.
std::vector<bool> ours_in(std::shared_ptr<TileSchedules> schedules) {
  test::Comparison info;
  CompileOptions options;
  (void)test::outputs_of(*make_cpu_backend(Products::Chosen, std::move(schedules)), small_plan(),
                         options, 1, &info);
  std::vector<bool> ours;
  for (const StepInfo& step : info.steps)
    if (step.name == "matmul" || step.name == "conv2d")
      ours.push_back(llvm::StringRef(step.implementation).startswith("tile:"));
  return ours;
}

std::vector<std::string> texts(int threads = 1) {
  std::vector<std::string> all;
  Plan plan = small_plan();
  for (const PlanStep& step : plan.steps) all.push_back(operator_text(plan, step, threads));
  return all;
}

class KernelChoicesTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-choices", folder_));
    path = folder_.str().str() + "/costs.db";
    // Reason: own kernels require AVX2 or better; without it there is no choice.
    if (!may_use_own("avx2")) GTEST_SKIP() << "kernels for AVX2, which is not here";
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder_); }

  std::unique_ptr<KernelChoices> open(llvm::StringRef processor = "some cpu") const {
    return KernelChoices::open(path, processor);
  }
  std::vector<bool> kept(llvm::StringRef processor = "some cpu") const {
    return ours_in(TunedPrograms::on_demand(path, processor));
  }

  std::string path;

private:
  llvm::SmallString<128> folder_;
};

TEST(OperatorText, SaysAllThatTimesDependOn) {
  std::vector<std::string> all = texts(2);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], "conv2d(f32[1, 32, 12, 12], f32[32, 32, 3, 3] held, none, none) [1, 1] "
                    "[1, 1, 1, 1] [1, 1] relu on 2");
  EXPECT_EQ(all[1], all[0]);
  EXPECT_EQ(all[2], "matmul(f32[24, 96], f32[96, 80] held, f32[80] held, none) tanh on 2");
}

TEST_F(KernelChoicesTest, RunPlansByStoredChoices) {
  std::vector<bool> by_rule = kept();
  ASSERT_EQ(by_rule.size(), 3u);
  EXPECT_FALSE(llvm::sys::fs::exists(path)) << "where nothing was measured no file is made";

  std::vector<std::string> all = texts();
  for (KernelOwner whose : {KernelOwner::Ours, KernelOwner::Library}) {
    for (const std::string& text : all) open()->keep(text, whose, 12);
    EXPECT_EQ(kept(), std::vector<bool>(3, whose == KernelOwner::Ours));
  }
  EXPECT_EQ(kept("another cpu"), by_rule);
  for (const std::string& text : all) open()->keep(text, KernelOwner::Rule, 12);
  EXPECT_EQ(kept(), by_rule);
  // For another number of threads.
  for (const std::string& text : texts(2)) open()->keep(text, KernelOwner::Ours, 12);
  EXPECT_EQ(kept(), by_rule);
}

TEST_F(KernelChoicesTest, IgnoresDamagedRows) {
  std::vector<bool> by_rule = kept();
  std::string text = texts()[2];
  for (const char* word : {"theirs", "", "ours "}) {
    CostDb::open(path, KernelChoices::environment("some cpu"))
        ->store(CostRow{"kernel of " + text, 12, word});
    EXPECT_FALSE(open()->find(text)) << word;
    EXPECT_EQ(kept(), by_rule) << word;
  }
}

TEST_F(KernelChoicesTest, PricesOfTheOtherKernelAreForgotten) {
  CostEnvironment prices{"some cpu", "avx2", "cpu: oneDNN", "cold", "f32", 2};
  std::vector<CostRow> rows = {{"conv2d(f32[1, 8, 9, 9])", 10, "tile:avx2 dense 6x16"},
                               {"conv2d(f32[1, 8, 1, 1])", 10, "brgemm:avx2"},
                               {"matmul(f32[8, 8], f32[8, 8])", 10, "tile:avx2 6x16"}};
  auto known = [&](size_t row) {
    return CostDb::open(path, prices)->find(rows[row].instance).has_value();
  };
  CostDb::open(path, prices)->store(rows);
  open()->keep(texts()[0], KernelOwner::Rule, 12);
  for (size_t row = 0; row < rows.size(); ++row) EXPECT_TRUE(known(row));
  open()->keep(texts()[0], KernelOwner::Ours, 12);
  for (size_t row = 0; row < rows.size(); ++row) EXPECT_EQ(known(row), row == 2);
}

TEST_F(KernelChoicesTest, WholeRunsOfTheOtherKernelAreForgotten) {
  CostEnvironment runs{"some cpu", "avx2", "cpu: oneDNN", "whole runs", "f32", 2};
  const char* rows[] = {"whole run of the first, a beside b in f32", "result of a by mcts",
                        "resulting otherwise"};
  auto run = [&] {
    for (const char* row : rows) CostDb::open(path, runs)->store(CostRow{row, 10, "whole run"});
  };
  auto known = [&](size_t row) { return CostDb::open(path, runs)->find(rows[row]).has_value(); };
  run();
  open()->keep(texts()[0], KernelOwner::Rule, 12);
  EXPECT_TRUE(known(0) && known(1)) << "as ever";
  open()->keep(texts()[0], KernelOwner::Library, 12);
  EXPECT_FALSE(known(0) || known(1));
  EXPECT_TRUE(known(2));
  run();
  open()->keep(texts()[0], KernelOwner::Library, 12);
  EXPECT_TRUE(known(0) && known(1)) << "as it was";
  open()->keep(texts()[0], KernelOwner::Rule, 12);
  EXPECT_FALSE(known(0) || known(1)) << "by rule again";
}

TEST_F(KernelChoicesTest, EachOperatorIsMeasuredOnce) {
  Plan plan = small_plan();
  TuneDeviceOptions options;
  options.database = path;
  Result<tune::KernelReport> first = choose_kernels(plan, options, 0.01);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_EQ(first->lines.size(), 2u);
  EXPECT_EQ(first->lines[0].occurrences, 2);
  EXPECT_EQ(first->lines[1].occurrences, 1);
  EXPECT_EQ(first->known, 0u);
  for (const tune::KernelLine& line : first->lines) {
    EXPECT_GT(line.times.first_us, 0) << line.name;
    EXPECT_GT(line.times.second_us, 0) << line.name;
    std::optional<KernelOwner> whose = open(processor_name())->find(line.name);
    ASSERT_TRUE(whose) << line.name;
    EXPECT_EQ(*whose == KernelOwner::Rule, !line.otherwise);
    EXPECT_EQ(*whose == KernelOwner::Ours, line.otherwise && !line.ours_by_rule);
  }
  // If it changed a kernel, the whole plan was run with it, and its median is not slower.
  if (first->changes() > 0) {
    ASSERT_TRUE(first->whole);
    EXPECT_GE(first->whole->ratio, 1);
  }
  std::vector<bool> now = kept(processor_name());
  bool convolutions = first->lines[0].ours_by_rule != first->lines[0].otherwise;
  bool products = first->lines[1].ours_by_rule != first->lines[1].otherwise;
  EXPECT_EQ(now, (std::vector<bool>{convolutions, convolutions, products}));

  Result<tune::KernelReport> again = choose_kernels(plan, options, 0.01);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->lines.empty());
  EXPECT_EQ(again->known, 2u);
}

TEST_F(KernelChoicesTest, KeepsNothingWhenStopped) {
  Plan plan = small_plan();
  TuneDeviceOptions options;
  options.database = path;
  options.stop = StopToken().within(0);
  Result<tune::KernelReport> found = choose_kernels(plan, options, 0.01);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->changes(), 0u);
  for (const std::string& text : texts()) EXPECT_FALSE(open(processor_name())->find(text));
}

} // namespace
} // namespace tg::cpu
