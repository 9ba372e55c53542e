// The library itself, where it is installed, without a GPU: since 9.8 it plans for a device that is
// described to it. So it can be asked whether it takes the graphs that we build, which engines are
// left under the limits, and whether plans come back from text. Nothing is run.
#include "runtime/cuda/cudnn_problem.h"

#include "runtime/cuda/cudnn_plan.h"
#include "tests/unit/cuda/described_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

constexpr cuda::DnnLimits kStrict{int64_t{1} << 26, false, 4};

struct CudnnDevice : testing::Test {
  LeaksOfOthers leaks;
  std::unique_ptr<cuda::Cudnn> dnn;
  void SetUp() override {
    auto opened = cuda::Cudnn::open_for(kH200);
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

TEST_F(CudnnDevice, RefusesWhatIsNoPlan) {
  Plan plan = plan_of({"3x3", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, true, false, "relu"}, DType::F32);
  auto problem = cuda::dnn_problem(plan, plan.steps[0], cuda::plain_strides(plan));
  for (const char* text : {"", "{}", "not json", R"({"engineId": 0})"})
    EXPECT_FALSE(dnn->restore(problem->graph, text).ok());
}

} // namespace
} // namespace tg::test
