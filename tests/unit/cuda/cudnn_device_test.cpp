// Tests cuDNN itself without a GPU, if it is installed: since 9.8 it plans for a device
// that is given by a description. The tests check that it accepts the graphs,
// which engines remain under the limits, and that plans can be restored from text. Nothing is run.
#include "runtime/cuda/cudnn/problem.h"

#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/plan.h"
#include "tests/unit/cuda/content_driver.h"
#include "tests/unit/cuda/described_gpu.h"
#include "tests/unit/cuda/plain_strides.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/Support/FileSystem.h>

#include <cstdlib>
#include <fstream>

namespace tg::test {
namespace {

constexpr cuda::DnnLimits kStrict{int64_t{1} << 26, false, 4};

struct CudnnDevice : testing::Test {
  LeaksOfOthers leaks;
  std::unique_ptr<cuda::Cudnn> dnn;
  void SetUp() override {
    auto opened = DescribedDevice::open(kH200);
    // Not installed, or too old to plan without a GPU.
    if (!opened) GTEST_SKIP() << opened.error().message;
    dnn = std::move(*opened);
  }

  struct Layer {
    const char* name;
    Shape x, w;
    int64_t stride;
    bool bias, residual;
    const char* act;
  };

  static Plan plan_of(const Layer& layer, DType dtype) {
    PlanWriter writer;
    PlanValueId x = writer.input("x", layer.x), w = writer.weight("w", layer.w);
    std::vector<Value> attrs = {Value::of_ints({layer.stride, layer.stride}),
                                Value::of_ints({layer.w[2] / 2, layer.w[3] / 2}),
                                Value::of_ints({1, 1}), Value::of_enum("none")};
    PlanValueId bias = layer.bias ? writer.weight("b", {layer.w[0]}) : kNoValue;
    PlanValueId residual =
        layer.residual ? writer.run(OpKind::Conv2d, attrs, {x, w, kNoValue, kNoValue}) : kNoValue;
    attrs[3] = Value::of_enum(layer.act);
    writer.output("y", writer.run(OpKind::Conv2d, attrs, {x, w, bias, residual}));
    Plan plan = writer.finish();
    for (PlanValue& value : plan.values) value.type.dtype = dtype;
    return plan;
  }
};

TEST_F(CudnnDevice, HasEnginesForLayersOfTheExampleModels) {
  const Layer layers[] = {
      {"stem", {1, 3, 224, 224}, {64, 3, 7, 7}, 2, true, false, "relu"},
      {"3x3", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, true, false, "relu"},
      {"3x3, nothing more", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, false, false, "none"},
      {"3x3, relu", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, false, false, "relu"},
      {"3x3, residual", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, false, true, "none"},
      {"1x1, residual", {1, 64, 56, 56}, {256, 64, 1, 1}, 1, true, true, "relu"},
      {"grouped", {1, 128, 56, 56}, {128, 4, 3, 3}, 1, true, false, "relu"},
      {"depthwise", {1, 96, 56, 56}, {96, 1, 3, 3}, 2, true, false, "none"},
  };
  for (const Layer& layer : layers)
    for (DType dtype : {DType::F32, DType::F16, DType::BF16})
      for (bool last : {false, true}) {
        Plan plan = plan_of(layer, dtype);
        cuda::StridesOf strides = [&](PlanValueId id) {
          const Shape& shape = plan.values[id].type.shape;
          return last && shape.size() == 4 ? cuda::channels_last_strides(shape)
                                           : contiguous_strides(shape);
        };
        auto problem = cuda::dnn_problem(plan, plan.steps.back(), strides);
        ASSERT_TRUE(problem);
        auto plans = dnn->plans(problem->graph, kStrict);
        ASSERT_TRUE(plans.ok()) << layer.name << " " << dtype_name(dtype).str() << ": "
                                << plans.error().message;
        auto back = dnn->restore(problem->graph, (*plans)[0]->text());
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_EQ((*back)->workspace_bytes(), (*plans)[0]->workspace_bytes());
      }
}

/// The library's heuristics first name about twenty configurations for tensor cores,
/// and strict f32 admits none of them. Engines 0 and 11 are its last resort.
TEST_F(CudnnDevice, HasMorePlansForStrictF32ThanTheFallback) {
  for (int64_t channels : {64, 128, 256, 512}) {
    int64_t size = 3584 / channels;
    Plan plan = plan_of(
        {"3x3", {1, channels, size, size}, {channels, channels, 3, 3}, 1, true, false, "relu"},
        DType::F32);
    auto problem = cuda::dnn_problem(plan, plan.steps.back(), cuda::plain_strides(plan));
    auto plans = dnn->plans(problem->graph, kStrict);
    ASSERT_TRUE(plans.ok()) << plans.error().message;
    EXPECT_TRUE(llvm::any_of(*plans, [](const auto& found) {
      return found->engine() != "engine 0" && found->engine() != "engine 11";
    })) << channels;
  }
}

TEST_F(CudnnDevice, RefusesInvalidPlans) {
  Plan plan = plan_of({"3x3", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, true, false, "relu"}, DType::F32);
  auto problem = cuda::dnn_problem(plan, plan.steps[0], cuda::plain_strides(plan));
  for (const char* text : {"", "{}", "not json", R"({"engineId": 0})"})
    EXPECT_FALSE(dnn->restore(problem->graph, text).ok());
}

/// Attention in f16 over adjacent heads.
Plan plain_attention() {
  PlanWriter w;
  auto turned = [&](const char* name, std::vector<int64_t> axes) {
    return w.run(OpKind::Transpose, {Value::of_ints(std::move(axes))},
                 {w.input(name, {1, 50, 4, 64})});
  };
  auto product = [&](PlanValueId x, PlanValueId y) {
    return w.run(OpKind::Matmul, {Value::of_enum("none")}, {x, y, kNoValue, kNoValue});
  };
  PlanValueId scores = product(turned("q", {0, 2, 1, 3}), turned("k", {0, 2, 3, 1}));
  scores = w.run(OpKind::Mul, {}, {scores, w.constant({}, {0.125})});
  PlanValueId weights = w.run(OpKind::Softmax, {Value::of_int(3)}, {scores});
  w.output("y", product(weights, turned("v", {0, 2, 1, 3})));
  Plan plan = w.finish();
  for (PlanValue& value : plan.values) value.type.dtype = DType::F16;
  return plan;
}

/// Eight heads, of which groups of four share keys and values.
Plan grouped_attention() {
  PlanWriter w;
  PlanValueId q = w.input("q", {1, 2, 4, 50, 64}), v = w.input("v", {1, 2, 1, 50, 64});
  auto product = [&](PlanValueId x, PlanValueId y) {
    return w.run(OpKind::Matmul, {Value::of_enum("none")}, {x, y, kNoValue, kNoValue});
  };
  PlanValueId turned = w.run(OpKind::Transpose, {Value::of_ints({0, 1, 2, 4, 3})},
                             {w.input("keys", {1, 2, 1, 50, 64})});
  PlanValueId scores = w.run(OpKind::Mul, {}, {product(q, turned), w.constant({}, {0.125})});
  w.output("y", product(w.run(OpKind::Softmax, {Value::of_int(4)}, {scores}), v));
  Plan plan = w.finish();
  for (PlanValue& value : plan.values) value.type.dtype = DType::F16;
  return plan;
}

/// Runs in the process that the next test starts, with a driver that accepts every call.
TEST_F(CudnnDevice, DISABLED_PlansAttentionUnderADriver) {
  auto always = [](const Plan&, const PlanStep&) { return true; };
  size_t asked = 0;
  for (const Plan& plan : {plain_attention(), grouped_attention()}) {
    Plan fused = cuda::fuse_attention(plan, always).plan;
    for (const PlanStep& step : fused.steps) {
      if (!cuda::is_attention(step)) continue;
      ++asked;
      cuda::DnnProblem problem = cuda::attention_problem(fused, step);
      auto plans = dnn->plans(problem.graph, {int64_t{1} << 26, false, 1});
      EXPECT_TRUE(plans.ok()) << problem.graph.text() << "\n" << plans.error().message;
    }
  }
  EXPECT_EQ(asked, 2u);
}

/// Attention engines compile and load their kernels, for which they need a driver.
/// This driver has every function of the real one, and each returns success,
/// so that the library does everything except the run.
TEST(CudnnPlans, Attention) {
  if (!DescribedDevice::open(kH200)) GTEST_SKIP() << "no cuDNN, or one too old";
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-driver", folder));
  std::ofstream((folder + "/driver.cpp").str()) << kContentDriver;
  std::ofstream((folder + "/others.cpp").str()) << kContentOthers;
  std::string in_folder = "cd " + folder.str().str() + " && ";
  std::string list = in_folder + "stub=$(ls /usr/local/cuda*/lib*/stubs/"
                                 "libcuda.so /usr/lib/*/stubs/libcuda.so 2>/dev/null | head -1) && "
                                 "test -n \"$stub\" && nm -D --defined-only $stub | "
                                 "sed -n 's/.* T \\(cu[A-Za-z0-9_]*\\)$/\\1/p' | sort -u | "
                                 "sed 's/.*/OTHER(&)/' > others.inc && test -s others.inc";
  std::string make = in_folder + TG_CXX " -w -shared -fPIC -Wl,-soname,libcuda.so.1 "
                                        "-o libcuda.so.1 driver.cpp others.cpp -ldl";
  // A child that skips its test proves nothing. Its output has to say that one test passed.
  std::string run = "LD_LIBRARY_PATH=" + folder.str().str() + ":$LD_LIBRARY_PATH " +
                    llvm::sys::fs::getMainExecutable(nullptr, nullptr) +
                    " --gtest_also_run_disabled_tests "
                    "--gtest_filter=CudnnDevice.DISABLED_PlansAttentionUnderADriver"
                    " | tee /dev/stderr | grep -qF '[  PASSED  ] 1 test.'";
  bool listed = std::system(list.c_str()) == 0;
  int made = listed ? std::system(make.c_str()) : 0;
  int status = listed && made == 0 ? std::system(run.c_str()) : 0;
  llvm::sys::fs::remove_directories(folder);
  // The names of the driver's functions come from the toolkit's stub, read by nm.
  if (!listed) GTEST_SKIP() << "no stub of the driver in the toolkit, or no nm";
  EXPECT_EQ(made, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace tg::test
