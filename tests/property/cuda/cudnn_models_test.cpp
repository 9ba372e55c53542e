// Tests cuDNN itself, if it is installed, with every convolution of every example model
// in its source form: for an H200 that is described to it, it has an engine that keeps strict f32.
// Also tests that attention without a mask is recognised in models.
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/plan.h"
#include "runtime/cuda/cudnn/problem.h"
#include "tests/unit/cuda/described_gpu.h"
#include "tests/unit/cuda/plain_strides.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <gtest/gtest.h>

#include <set>

namespace tg::test {
namespace {

TEST(CudnnModels, HasEnginesForTheConvolutionsOfTheExamples) {
  [[maybe_unused]] LeaksOfOthers leaks;
  auto dnn = DescribedDevice::open(kH200);
  if (!dnn) GTEST_SKIP() << dnn.error().message; // not installed, or too old to plan without a GPU
  std::set<std::string> asked;
  std::string refused;
  for (const char* folder : {"/examples", "/examples/paper"}) {
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(std::string(TG_SOURCE_DIR) + folder, code), end;
         it != end && !code; it.increment(code)) {
      if (llvm::sys::path::extension(it->path()) != ".tg") continue;
      SourceManager sources;
      DiagnosticSink sink;
      std::optional<Graph> graph = load_graph(sources, it->path(), {}, sink);
      if (!graph) continue; // a file of several models
      Plan plan = plan_from_graph(*graph);
      for (const PlanStep& step : plan.steps) {
        if (step.op != OpKind::Conv2d) continue;
        auto problem = cuda::dnn_problem(plan, step, cuda::plain_strides(plan));
        ASSERT_TRUE(problem);
        if (!asked.insert(problem->graph.text()).second) continue;
        auto plans = (*dnn)->plans(problem->graph, {int64_t{1} << 26, false, 1});
        if (!plans)
          refused +=
              it->path() + ": " + problem->graph.text() + "\n  " + plans.error().message + "\n";
      }
    }
  }
  EXPECT_GE(asked.size(), 50u);
  EXPECT_EQ(refused, "");
}

TEST(CudnnModels, AttentionIsFoundInEveryLayer) {
  SourceManager sources;
  DiagnosticSink sink;
  std::string file = std::string(TG_SOURCE_DIR) + "/examples/vit_base.tg";
  std::optional<Graph> graph = load_graph(sources, file, {}, sink);
  ASSERT_TRUE(graph);
  Plan plan = plan_from_graph(*graph);
  auto always = [](const Plan&, const PlanStep&) { return true; };
  Plan fused = cuda::fuse_attention(plan, always).plan;
  EXPECT_EQ(llvm::count_if(fused.steps, cuda::is_attention), 12);
}

} // namespace
} // namespace tg::test
