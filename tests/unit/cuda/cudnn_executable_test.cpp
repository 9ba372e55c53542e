// Tests networks with convolutions on a recording GPU and cuDNN: layouts,
// conversions and weights against `ref`, the calls of a run, stored plans,
// and execution without the library.
#include "runtime/cuda/cudnn/conv_lowering.h"
#include "runtime/cuda/executable.h"

#include "tests/unit/cuda/fake_cudnn.h"
#include "tests/unit/cuda/fake_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

std::vector<Value> conv_attrs(const char* act, int64_t stride = 1, const char* pad = "same") {
  return {Value::of_ints({stride, stride}), Value::of_enum(pad), Value::of_ints({1, 1}),
          Value::of_enum(act)};
}

/// A residual block, followed by a pool and a classifier.
Plan network() {
  PlanWriter w;
  PlanValueId x = w.input("x", {2, 3, 8, 8});
  x = w.run(OpKind::Conv2d, conv_attrs("relu", 2),
            {x, w.weight("w0", {8, 3, 3, 3}), w.weight("b0", {8}), kNoValue});
  PlanValueId y = w.run(OpKind::Conv2d, conv_attrs("relu"),
                        {x, w.weight("w1", {8, 8, 3, 3}), kNoValue, kNoValue});
  y = w.run(OpKind::Sigmoid, {}, {y});
  y = w.run(OpKind::Conv2d, conv_attrs("none"),
            {y, w.weight("w2", {8, 8, 3, 3}), w.weight("b2", {8}), x});
  w.output("image", y);
  y = w.run(OpKind::MaxPool2d,
            {Value::of_ints({2, 2}), Value::of_ints({2, 2}), Value::of_enum("valid")}, {y});
  y = w.run(OpKind::Reshape, {Value::of_ints({2, 32})}, {y});
  y = w.run(OpKind::Matmul, {Value::of_enum("none")},
            {y, w.weight("v", {32, 5}), kNoValue, kNoValue});
  w.output("y", y);
  return w.finish();
}

std::vector<bool>* table = nullptr;
cuda::StridesOf by_table(const Plan& plan) { return cuda::strides_of(plan, *table); }
bool convolves(const PlanStep& step) { return step.op == OpKind::Conv2d; }

/// Generated kernels are timed against the library only in strict f32. Engine 0 rounds.
const CompileOptions kRounded{.allow_tf32 = true};

struct CudnnExecutable : testing::Test {
  static inline CppLibrary library; // compiled kernels are shared between tests
  static inline bool prepared[2] = {};
  FakeGpuLog log;
  SourceCompiler compiler;
  cuda::CubinCache cache{"", compiler};
  cuda::ExecutableLibraries libraries;

  void SetUp() override {
    FakeCudnn::reset();
    log.stand_ins = true;
    log.takes = [](const std::string& call) {
      return call == "record" ? 0.0 : call == "launch" ? 4000.0 : 1000.0;
    };
    libraries.dnn = std::move(*cuda::Cudnn::over(FakeCudnn::api()));
    libraries.dnn_plans = cuda::PlanDb::open("", {"fake", "none", "fake"});
  }

  std::unique_ptr<cuda::CudaExecutable> make(const Plan& plan, const CompileOptions& options = {}) {
    auto made = cuda::CudaExecutable::make(plan, options, std::make_unique<FakeGpu>(library, log),
                                           cache, libraries);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }

  /// Compiles the kernels of a network whose convolutions run in the library.
  void prepare(const Plan& plan, bool channels_last) {
    if (std::exchange(prepared[channels_last], true)) return; // all tests use one network
    cuda::LayoutPrices prices{[=](const PlanStep&, bool last) {
                                return last == channels_last ? std::optional(1.0) : std::nullopt;
                              },
                              [](const TensorType&) { return 1.0; }};
    auto lowered = cuda::lower_winograd(plan).plan;
    auto laid = cuda::assign_layouts(lowered, cuda::choose_layouts(lowered, prices));
    table = &laid.channels_last;
    library.compile(sources_of(generate_all(laid.edited.plan, convolves, by_table)));
  }

  static std::string implementations(const cuda::CudaExecutable& executable) {
    std::string all;
    for (const StepInfo& step : executable.steps())
      all += step.name + "=" + step.implementation.substr(0, step.implementation.find(":v")) + "\n";
    return all;
  }

  void expect_like_ref(cuda::CudaExecutable& executable, const Plan& plan) {
    auto want = by_ref(plan, 7);
    for (int run = 0; run < 2; ++run) {
      auto got = executable.run(*random_inputs(plan, 7));
      ASSERT_TRUE(got.ok());
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_LE(max_rel_diff((*got)[i], want[i]), 1e-5) << i;
    }
  }
};

TEST_F(CudnnExecutable, RunsConvolutionsChannelsFirst) {
  Plan plan = network();
  prepare(plan, false);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(implementations(*executable), "conv2d=cudnn:engine 2:nchw\n"
                                          "conv2d=cudnn:engine 2:nchw\n"
                                          "sigmoid=cuda:map\n"
                                          "conv2d=cudnn:engine 2:nchw\n"
                                          "max_pool2d=cuda:serial\n"
                                          "reshape+matmul=cuda:columns\n");
  EXPECT_EQ(executable->layout_conversions(), 0);
  expect_like_ref(*executable, plan);
}

TEST_F(CudnnExecutable, RunsConvolutionsChannelsLastWithConversionsAtTheEdges) {
  Plan plan = network();
  FakeCudnn::only_last = true;
  prepare(plan, true);
  auto executable = make(plan, kRounded);
  ASSERT_TRUE(executable);
  std::string names = implementations(*executable);
  EXPECT_EQ(names, "identity=cuda:map\n"
                   "conv2d=cudnn:engine 0:nhwc\n"
                   "conv2d=cudnn:engine 0:nhwc\n"
                   "sigmoid=cuda:map\n"
                   "conv2d=cudnn:engine 0:nhwc\n"
                   "max_pool2d=cuda:serial\n"
                   "reshape+matmul=cuda:columns\n"
                   "identity=cuda:map\n")
      << names;
  EXPECT_EQ(executable->layout_conversions(), 2);
  expect_like_ref(*executable, plan);
}

TEST_F(CudnnExecutable, ARunIsOneReplay) {
  Plan plan = network();
  prepare(plan, false);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_GT(executable->memory().workspace, 2048);
  EXPECT_GE(log.count("release"), 1u) << "scratch memory is given back";
  ASSERT_TRUE(executable->bind_inputs(*random_inputs(plan, 1)).ok());
  log.calls.clear();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(executable->run_once().ok());
  EXPECT_EQ(log.calls,
            (std::vector<std::string>{"replay", "synchronise", "replay", "synchronise"}));
}

TEST_F(CudnnExecutable, PlansAreMeasuredOnceAndKept) {
  Plan plan = network();
  prepare(plan, false);
  ASSERT_TRUE(make(plan));
  int made = FakeCudnn::plans;
  EXPECT_GT(made, 0);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(FakeCudnn::plans, made) << "all come from the database";
  EXPECT_GT(libraries.dnn_plans->hits(), 0u);
  EXPECT_TRUE(libraries.dnn_plans->notes().size() <= 1);
  expect_like_ref(*executable, plan);

  FakeCudnn::graphs.clear(); // the graphs of the stored plans no longer exist, as after an update
  auto again = make(plan);
  ASSERT_TRUE(again);
  EXPECT_GT(FakeCudnn::plans, made);
  EXPECT_NE(libraries.dnn_plans->notes().back().find("is not used"), std::string::npos);
}

TEST_F(CudnnExecutable, AKeptPlanThatDoesNotRunIsReplaced) {
  Plan plan = network();
  prepare(plan, false);
  ASSERT_TRUE(make(plan));
  FakeCudnn::broken = 2; // the engine of all stored plans
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  for (const StepInfo& step : executable->steps())
    EXPECT_EQ(step.implementation.find("cudnn:engine 2"), std::string::npos);
  EXPECT_NE(libraries.dnn_plans->notes().back().find("is not used: it does not run: cuDNN"),
            std::string::npos);
}

/// An error on a lost GPU does not invalidate the stored plan.
TEST_F(CudnnExecutable, KeepsStoredPlansWhenTheGpuIsLost) {
  Plan plan = network();
  prepare(plan, false);
  ASSERT_TRUE(make(plan));
  log.calls.clear();
  ASSERT_TRUE(make(plan));
  size_t calls = log.calls.size(), notes = libraries.dnn_plans->notes().size();
  int made = FakeCudnn::plans;
  for (size_t n = 0; n < calls; ++n) {
    log.calls.clear();
    log.fails_after = n;
    EXPECT_FALSE(cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log),
                                            cache, libraries)
                     .ok());
  }
  EXPECT_EQ(libraries.dnn_plans->notes().size(), notes);
  log.fails_after = SIZE_MAX;
  FakeCudnn::plans = made;
  ASSERT_TRUE(make(plan));
  EXPECT_EQ(FakeCudnn::plans, made) << "all are still known";
}

/// A refusal by the library takes a long time.
TEST_F(CudnnExecutable, DoesNotRetryRefusedProblems) {
  Plan plan = network();
  library.compile(sources_of(generate_all(plan, [](const PlanStep&) { return false; })));
  FakeCudnn::refuses = true;
  std::string why = make(plan)->steps()[0].implementation;
  FakeCudnn::refuses = false;
  EXPECT_EQ(make(plan)->steps()[0].implementation, why);
  EXPECT_EQ(FakeCudnn::plans, 0);
  libraries.dnn_plans = cuda::PlanDb::open("", {"fake", "none", "another version"});
  EXPECT_NE(make(plan)->steps()[0].implementation, why);
}

TEST_F(CudnnExecutable, FallsBackToGeneratedKernelsAndSaysSo) {
  Plan plan = network();
  FakeCudnn::refuses = true;
  library.compile(sources_of(generate_all(plan, [](const PlanStep&) { return false; })));
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->steps()[0].name, "conv2d");
  EXPECT_NE(executable->steps()[0].implementation.find(" (cuDNN has no engine: "),
            std::string::npos)
      << executable->steps()[0].implementation;
  expect_like_ref(*executable, plan);
}

TEST_F(CudnnExecutable, KeepsFasterGeneratedKernels) {
  Plan plan = network();
  prepare(plan, false);
  log.takes = [](const std::string& call) {
    return call == "record" ? 0.0 : call == "launch" ? 500.0 : 1000.0;
  };
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  std::string how = executable->steps()[1].implementation;
  EXPECT_NE(how.find("(500.0 us, cuDNN 1000.0 us)"), std::string::npos) << how;
  EXPECT_EQ(make(plan, kRounded)->steps()[1].implementation, "cudnn:engine 0:nchw") << "no rival";
}

TEST_F(CudnnExecutable, WinogradConvolutionsAreConvolutions) {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 4, 8, 8});
  PlanValueId u = w.load(OpKind::WinogradWeight, {Value::of_int(2)}, {w.weight("w", {4, 4, 3, 3})});
  w.output("y", w.run(OpKind::WinogradConv2d, {Value::of_ints({1, 1}), Value::of_enum("relu")},
                      {x, u, kNoValue, kNoValue}));
  Plan plan = w.finish();
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(implementations(*executable), "conv2d=cudnn:engine 2:nchw\n");
  auto got = executable->run(*random_inputs(plan, 7));
  ASSERT_TRUE(got.ok());
  EXPECT_LE(max_rel_diff((*got)[0], by_ref(plan, 7)[0]), 1e-4);
}

TEST_F(CudnnExecutable, FreesAllMemoryAfterAnyFailure) {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 2, 4, 4});
  w.output("y", w.run(OpKind::Conv2d, conv_attrs("relu"),
                      {x, w.weight("w", {2, 2, 3, 3}), kNoValue, kNoValue}));
  Plan plan = w.finish();
  libraries.dnn_plans = nullptr;
  ASSERT_TRUE(make(plan));
  size_t calls = log.calls.size();
  for (size_t fails_after = 0; fails_after < calls; fails_after += 1 + calls / 12) {
    log.calls.clear();
    log.fails_after = fails_after;
    auto made = cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log), cache,
                                           libraries);
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(log.live_allocations, 0u);
  }
  libraries.dnn = nullptr;
  EXPECT_EQ(FakeCudnn::live, 0);
}

} // namespace
} // namespace tg::test
