// Tests requests to cuDNN and the use of its answers: descriptor trees line by line,
// graphs that are interpreted on the processor against `ref`, and the choice of engines.
#include "tests/unit/cuda/fake_cudnn.h"

#include "runtime/cuda/cudnn/problem.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/cuda/plain_strides.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::test {
namespace {

using cuda::Cudnn;
using cuda::DnnLimits;
using cuda::DnnProblem;

constexpr DnnLimits kStrict{int64_t{1} << 26, false, 6};

struct ConvCase {
  Shape x = {2, 6, 9, 8}, w = {4, 6, 3, 3};
  int64_t stride = 1, dilation = 1;
  const char* pad = "same";
  const char* act = "none";
  bool bias = false, residual = false;
};

Plan conv_plan(const ConvCase& c) {
  PlanWriter w;
  PlanValueId x = w.input("x", c.x), kernel = w.weight("w", c.w);
  std::vector<Value> attrs = {Value::of_ints({c.stride, c.stride}), Value::of_enum(c.pad),
                              Value::of_ints({c.dilation, c.dilation}), Value::of_enum("none")};
  PlanValueId bias = c.bias ? w.weight("b", {c.w[0]}) : kNoValue;
  // The residual has the type of the result. A convolution without a residual determines it.
  PlanValueId plain = w.run(OpKind::Conv2d, attrs, {x, kernel, kNoValue, kNoValue});
  attrs[3] = Value::of_enum(c.act);
  PlanValueId residual = c.residual ? w.run(OpKind::Neg, {}, {plain}) : kNoValue;
  w.output("plain", plain);
  w.output("y", w.run(OpKind::Conv2d, attrs, {x, kernel, bias, residual}));
  return w.finish();
}

/// Returns channels-last strides for 4-d values.
cuda::StridesOf all_channels_last(const Plan& plan) {
  return [&plan](PlanValueId id) {
    const Shape& shape = plan.values[id].type.shape;
    return shape.size() == 4 ? cuda::channels_last_strides(shape) : contiguous_strides(shape);
  };
}

struct CudnnTest : testing::Test {
  void SetUp() override { FakeCudnn::reset(); }
  std::unique_ptr<Cudnn> dnn = std::move(*Cudnn::over(FakeCudnn::api()));
  using Buffer = std::vector<float>;

  /// Returns the step's result in row-major order, computed by the fake from operands by `ref`.
  Tensor run(const Plan& plan, const PlanStep& step, const cuda::StridesOf& strides) {
    auto problem = cuda::dnn_problem(plan, step, strides);
    EXPECT_TRUE(problem);
    auto plans = dnn->plans(problem->graph, kStrict);
    EXPECT_TRUE(plans.ok()) << plans.error().message;
    std::vector<Buffer> memory(plan.values.size());
    Buffer zeros(4096), workspace(4096);
    cuda::DnnAddresses at;
    for (PlanValueId id : problem->values) {
      if (id < plan.values.size() && memory[id].empty()) memory[id] = physical(plan, id, strides);
      float* data = id == cuda::kZeros ? zeros.data()
                    : id == kNoValue   ? nullptr
                                       : memory[id].data();
      at.push_back(reinterpret_cast<uint64_t>(data));
    }
    EXPECT_FALSE((*plans)[0]->run(at, reinterpret_cast<uint64_t>(workspace.data()), nullptr).ok())
        << "engine 1 refuses";
    auto ran = (*plans)[1]->run(at, reinterpret_cast<uint64_t>(workspace.data()), nullptr);
    EXPECT_TRUE(ran.ok());
    return logical(plan.values[step.result].type, memory[step.result], strides(step.result));
  }

  /// Returns a random tensor's elements, stored by these strides.
  static Buffer physical(const Plan& plan, PlanValueId id, const cuda::StridesOf& strides) {
    const TensorType& type = plan.values[id].type;
    Buffer buffer(static_cast<size_t>(type.elements()));
    for_each(type.shape, strides(id), [&](int64_t plain, int64_t offset) {
      buffer[static_cast<size_t>(offset)] = element(id, plain);
    });
    return buffer;
  }
  static float element(PlanValueId id, int64_t i) {
    return static_cast<float>((i * 37 + id * 11) % 64) / 32 - 1;
  }
  static Tensor logical(const TensorType& type, const Buffer& buffer, const Shape& strides) {
    Tensor tensor = std::move(*Tensor::zeros(type));
    for_each(type.shape, strides, [&](int64_t plain, int64_t offset) {
      reinterpret_cast<float*>(tensor.data())[plain] = buffer[static_cast<size_t>(offset)];
    });
    return tensor;
  }
  template <class F> static void for_each(const Shape& shape, const Shape& strides, F f) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, offset = 0;
      for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
        offset += rest % shape[axis] * strides[axis];
      f(i, offset);
    }
  }
  /// Runs the same step by `ref`.
  static Tensor want(const Plan& plan, const PlanStep& step) {
    RefStep kernel(plan, step);
    Tensor result = std::move(*Tensor::zeros(plan.values[step.result].type));
    AlignedBuffer workspace = allocate_aligned(kernel.workspace_bytes());
    std::vector<Buffer> memory;
    std::vector<const std::byte*> operands;
    for (PlanValueId id : step.operands) {
      memory.push_back(id == kNoValue ? Buffer() : physical(plan, id, cuda::plain_strides(plan)));
      operands.push_back(id == kNoValue ? nullptr
                                        : reinterpret_cast<const std::byte*>(memory.back().data()));
    }
    kernel.bind(operands, result.data(), workspace.get());
    kernel.run();
    return result;
  }
  void expect_like_ref(const Plan& plan) {
    const PlanStep& step = plan.steps.back();
    for (auto strides : {cuda::plain_strides(plan), all_channels_last(plan)})
      EXPECT_LE(max_rel_diff(run(plan, step, strides), want(plan, step)), 1e-5) << dump(plan);
  }
};

TEST_F(CudnnTest, ConvolutionsAgreeWithRef) {
  std::vector<ConvCase> cases = {{},
                                 {.stride = 2},
                                 {.dilation = 2, .pad = "same"},
                                 {.w = {4, 6, 1, 1}},
                                 {.stride = 2, .pad = "valid"},
                                 {.w = {6, 1, 3, 3}},
                                 {.w = {12, 3, 3, 2}},
                                 {.w = {4, 6, 2, 2}, .stride = 2}};
  for (ConvCase c : cases) expect_like_ref(conv_plan(c));
  for (const char* act : {"none", "relu", "relu6", "tanh", "sigmoid", "gelu"})
    for (bool bias : {false, true})
      for (bool residual : {false, true})
        expect_like_ref(conv_plan({.act = act, .bias = bias, .residual = residual}));
  dnn = nullptr;
  EXPECT_EQ(FakeCudnn::live, 0);
}

TEST_F(CudnnTest, AConvolutionIsOneGraphOfDescriptors) {
  Plan plan = conv_plan({.x = {1, 8, 4, 4}, .w = {8, 4, 3, 3}, .act = "relu", .residual = true});
  auto problem = cuda::dnn_problem(plan, plan.steps.back(), all_channels_last(plan));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->graph.text(),
            "t3 = conv(t0, t1) stride 1x1 dilation 1x1 before 1x1 after 1x1; t5 = add(t3, t4); "
            "t7 = add(t5, t6); t2 = relu(t7); t0: f32[1, 8, 4, 4] strides 128x1x32x8; "
            "t1: f32[8, 4, 3, 3] strides 36x1x12x4; t2: f32[1, 8, 4, 4] strides 128x1x32x8; "
            "t3: f32[1, 8, 4, 4] strides 128x1x32x8 inner; "
            "t4: f32[1, 8, 4, 4] strides 128x1x32x8; "
            "t5: f32[1, 8, 4, 4] strides 128x1x32x8 inner; t6: f32[1, 8, 1, 1] strides 8x1x8x8; "
            "t7: f32[1, 8, 4, 4] strides 128x1x32x8 inner");
  ASSERT_TRUE(dnn->plans(problem->graph, kStrict).ok());
  EXPECT_EQ(FakeCudnn::text(*FakeCudnn::graphs[0]), R"(Graph
  GraphHandle given
  GraphOps
    OpConvolution
      OpConvolutionAlpha 1
      OpConvolutionBeta 0
      OpConvolutionHow
        Convolution
          ConvolutionCompute 0
          ConvolutionMode 1
          ConvolutionDilations 1 1
          ConvolutionStrides 1 1
          ConvolutionAfter 1 1
          ConvolutionBefore 1 1
          ConvolutionSpatialDims 2
      OpConvolutionW t2
      OpConvolutionX t1
      OpConvolutionY t4
    OpPointwise
      OpPointwiseHow
        Pointwise
          PointwiseMode 0
          PointwiseCompute 0
      OpPointwiseX t4
      OpPointwiseB t5
      OpPointwiseY t6
    OpPointwise
      OpPointwiseHow
        Pointwise
          PointwiseMode 0
          PointwiseCompute 0
      OpPointwiseX t6
      OpPointwiseB t7
      OpPointwiseY t8
    OpPointwise
      OpPointwiseHow
        Pointwise
          PointwiseMode 100
          PointwiseCompute 0
          PointwiseNan 1
      OpPointwiseX t8
      OpPointwiseY t3
)");
  EXPECT_EQ(FakeCudnn::tensor_text(*FakeCudnn::graphs[0]),
            R"(t1 type 0 dims 1 8 4 4 strides 128 1 32 8
t2 type 0 dims 8 4 3 3 strides 36 1 12 4
t3 type 0 dims 1 8 4 4 strides 128 1 32 8
t4 type 0 dims 1 8 4 4 strides 128 1 32 8 virtual
t5 type 0 dims 1 8 4 4 strides 128 1 32 8
t6 type 0 dims 1 8 4 4 strides 128 1 32 8 virtual
t7 type 0 dims 1 8 1 1 strides 8 1 8 8
t8 type 0 dims 1 8 4 4 strides 128 1 32 8 virtual
)");
}

TEST_F(CudnnTest, TakesEnginesThatKeepNumbersAndFitTheWorkspace) {
  Plan plan = conv_plan({});
  auto graph = cuda::dnn_problem(plan, plan.steps.back(), cuda::plain_strides(plan))->graph;
  auto engines = [&](const DnnLimits& limits) {
    std::string names;
    auto plans = dnn->plans(graph, limits);
    EXPECT_TRUE(plans.ok());
    for (const auto& plan : *plans) names += plan->engine().substr(7);
    return names;
  };
  EXPECT_EQ(engines(kStrict), "12") << "0 rounds to tf32, 3 has to be compiled";
  EXPECT_EQ(engines({1 << 26, true, 6}), "012");
  EXPECT_EQ(engines({1 << 26, true, 1}), "0");
  EXPECT_EQ(engines({1024, false, 6}), "1");
  auto none = dnn->plans(graph, {1, false, 6});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "cuDNN has no engine: engine 3 needs more workspace than the limit");
  FakeCudnn::refuses = true;
  none = dnn->plans(graph, kStrict);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::no_kernel);
}

TEST_F(CudnnTest, PlansComeBackFromText) {
  Plan plan = conv_plan({});
  auto graph = cuda::dnn_problem(plan, plan.steps.back(), cuda::plain_strides(plan))->graph;
  auto plans = dnn->plans(graph, kStrict);
  ASSERT_TRUE(plans.ok());
  std::string text = (*plans)[1]->text();
  EXPECT_EQ(text, "engine 2 0");
  auto back = dnn->restore(graph, text);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ((*back)->workspace_bytes(), 2048);
  EXPECT_EQ((*back)->text(), text);
  EXPECT_FALSE(dnn->restore(graph, "a plan of another library").ok());
}

TEST_F(CudnnTest, HasNoWordsForIntegers) {
  Plan plan = conv_plan({});
  for (PlanValue& value : plan.values) value.type.dtype = DType::I32;
  EXPECT_FALSE(cuda::dnn_problem(plan, plan.steps.back(), cuda::plain_strides(plan)));
}

} // namespace
} // namespace tg::test
