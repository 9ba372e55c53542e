// Tests the executable on a recording GPU: whole networks against `ref`, the calls of a run,
// and the release of memory after any failure.
#include "runtime/cuda/executable.h"
#include "runtime/cuda/tuning/step_timer.h"

#include "compiler/emit/plan_from_graph.h"
#include "runtime/cuda/cudnn/conv_lowering.h"
#include "tests/property/backends/random_graph.h"
#include "tests/unit/cuda/fake_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

bool none(const PlanStep&) { return false; }

bool has_winograd(const Plan& plan) {
  return llvm::any_of(plan.steps, [](const PlanStep& step) {
    return step.phase == Phase::Run && !cuda::can_generate(step.op);
  });
}

struct Fixture : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  SourceCompiler compiler;
  cuda::CubinCache cache{"", compiler};

  std::unique_ptr<cuda::CudaExecutable> make(const Plan& plan, const CompileOptions& options = {}) {
    auto made =
        cuda::CudaExecutable::make(plan, options, std::make_unique<FakeGpu>(library, log), cache);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }

  /// Two layers with a residual between them: weights, a product, rows, maps, a view.
  static Plan network() {
    PlanWriter w;
    PlanValueId x = w.input("x", {6, 32});
    PlanValueId scale = w.load(OpKind::Exp, {}, {w.weight("scale", {32})});
    PlanValueId first = w.run(OpKind::Matmul, {Value::of_enum("none")},
                              {x, w.weight("w", {32, 32}), w.weight("b", {32}), kNoValue});
    PlanValueId sum = w.run(OpKind::Add, {}, {first, x});
    PlanValueId norm =
        w.run(OpKind::LayerNorm, {Value::of_float(1e-5)}, {sum, scale, w.weight("c", {32})});
    PlanValueId flat = w.run(OpKind::Reshape, {Value::of_ints({192})}, {norm});
    PlanValueId second = w.run(OpKind::Matmul, {Value::of_enum("relu")},
                               {norm, w.weight("v", {32, 32}), kNoValue, kNoValue});
    w.output("y", second);
    w.output("flat", flat);
    return w.finish();
  }
  void prepare(const Plan& plan) { library.compile(sources_of(generate_all(plan, none))); }
};

TEST_F(Fixture, RefusesDoubles) {
  PlanWriter w;
  w.output("y", w.run(OpKind::Relu, {}, {w.input("x", {2})}));
  Plan plan = w.finish();
  for (PlanValue& value : plan.values) value.type.dtype = DType::F64;
  auto made = cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log), cache);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::no_kernel);
  EXPECT_EQ(made.error().message, "f64 has no kernels on cuda, but a value has the type f64[2]");
}

TEST_F(Fixture, NetworksAgreeWithRef) {
  std::vector<Plan> plans;
  std::vector<cuda::KernelSource> sources;
  for (uint64_t seed = 100; seed < 130; ++seed) {
    Plan plan = plan_from_graph(RandomGraph(seed, 12, Operators::Generated).graph);
    Plan lowered = cuda::lower_winograd(plan).plan;
    if (has_winograd(lowered)) continue; // its kernel is given in transformed form
    for (auto& source : sources_of(generate_all(lowered, none))) sources.push_back(source);
    plans.push_back(std::move(plan));
  }
  ASSERT_GE(plans.size(), 10u);
  library.compile(sources);
  for (const Plan& plan : plans)
    for (IoLayout layout : {IoLayout::Plain, IoLayout::Native}) {
      CompileOptions options;
      options.io_layout = layout;
      auto executable = make(plan, options);
      ASSERT_TRUE(executable);
      auto want = by_ref(plan, 7);
      for (int run = 0; run < 2; ++run) { // the second run reuses the memory of the first
        auto got = executable->run(*random_inputs(plan, 7));
        ASSERT_TRUE(got.ok());
        for (size_t i = 0; i < want.size(); ++i)
          EXPECT_LE(max_rel_diff((*got)[i], want[i]), 1e-4) << dump(plan);
      }
    }
}

TEST_F(Fixture, ARunIsOneReplay) {
  Plan plan = network();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  ASSERT_TRUE(executable->bind_inputs(*random_inputs(plan, 1)).ok());
  for (int i = 0; i < 2; ++i) {
    log.calls.clear();
    ASSERT_TRUE(executable->run_once().ok());
    EXPECT_EQ(log.calls, (std::vector<std::string>{"replay", "synchronise"}));
  }
  log.calls.clear();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executable->enqueue().ok());
  EXPECT_EQ(log.calls, (std::vector<std::string>{"replay", "replay", "replay"}));
}

/// Each copy in a graph takes as long as a small kernel.
TEST_F(Fixture, InputsAreOneCopyAndSoAreOutputs) {
  PlanWriter w;
  PlanValueId a = w.input("a", {3, 5}), b = w.input("b", {7}), c = w.input("c", {3, 5});
  PlanValueId sum = w.run(OpKind::Add, {}, {a, c});
  w.output("sum", sum);
  w.output("flat", w.run(OpKind::Reshape, {Value::of_ints({15})}, {sum}));
  w.output("exp", w.run(OpKind::Exp, {}, {b}));
  w.output("b", b);
  Plan plan = w.finish();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  executable->profile(true);
  log.takes = [](const std::string& call) {
    return call == "copy_in" || call == "copy_out" ? 1.0 : 0.0;
  };
  auto want = by_ref(plan, 7);
  for (int run = 0; run < 2; ++run) {
    auto got = executable->run(*random_inputs(plan, 7));
    ASSERT_TRUE(got.ok());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_LE(max_rel_diff((*got)[i], want[i]), 1e-6) << plan.outputs[i].name;
  }
  auto steps = executable->steps();
  EXPECT_DOUBLE_EQ(steps.front().measured_us, 1);
  EXPECT_DOUBLE_EQ(steps.back().measured_us, 3)
      << "sum; what views it, with exp behind it; an input that is given back";
}

TEST_F(Fixture, FusesOperatorsAndNamesTheKernels) {
  Plan plan = network();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  std::string names;
  for (const StepInfo& step : executable->steps()) {
    names += step.name + " ";
    EXPECT_NE(step.implementation, "");
  }
  EXPECT_EQ(names, "matmul add+layer_norm reshape matmul ");
  EXPECT_EQ(executable->steps()[1].implementation, "cuda:rows:v4:t32:r32:k1");
  EXPECT_EQ(executable->steps()[1].uses, "6 x 32 threads, 40 registers")
      << "six rows, of a block each";
  EXPECT_EQ(executable->steps()[2].uses, "") << "a view";
  EXPECT_EQ(executable->kernels().size(), 3u);
  for (const cuda::KernelRow& row : executable->kernels()) {
    EXPECT_EQ(row.uses, 1);
    EXPECT_GT(row.blocks, 0);
  }
}

/// The fake's "machine code" is a text, from which no register count can be read.
TEST_F(Fixture, ReadsRegisterCountsOfPtxFromTheDriver) {
  Plan plan = network();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(log.count("use"), executable->kernels().size());
  for (const cuda::KernelRow& row : executable->kernels()) EXPECT_EQ(row.use.registers, 40);
}

TEST_F(Fixture, EqualKernelsAreCompiledOnce) {
  PlanWriter w;
  PlanValueId x = w.input("x", {64, 64});
  for (int i = 0; i < 4; ++i) {
    Value act = Value::of_enum("none");
    x = w.run(OpKind::Matmul, {act},
              {x, w.weight(("w" + std::to_string(i)).c_str(), {64, 64}), kNoValue, kNoValue});
    x = w.run(OpKind::Softmax, {Value::of_int(1)}, {x});
  }
  w.output("y", x);
  Plan plan = w.finish();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(log.count("load"), 2u);
  EXPECT_EQ(executable->kernels()[0].uses, 4);
}

TEST_F(Fixture, MemoryIsReusedAndAccountedFor) {
  PlanWriter w;
  PlanValueId x = w.input("x", {64, 64});
  for (int i = 0; i < 6; ++i)
    x = w.run(OpKind::Matmul, {Value::of_enum("none")},
              {x, w.weight(("w" + std::to_string(i)).c_str(), {64, 64}), kNoValue, kNoValue});
  w.output("y", x);
  Plan plan = w.finish();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  int64_t matrix = 64 * 64 * 4;
  EXPECT_EQ(executable->memory().weights, 6 * matrix);
  EXPECT_EQ(executable->memory().arena, 2 * matrix);
  EXPECT_EQ(executable->memory().io, matrix);
}

TEST_F(Fixture, ProfilesEachUnitAndTheWhole) {
  Plan plan = network();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  log.takes = [](const std::string& call) {
    return call == "launch" ? 3.0 : call == "copy_in" || call == "copy_out" ? 2.0 : 0.0;
  };
  executable->profile(true);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executable->run_once().ok());
  auto steps = executable->steps();
  ASSERT_EQ(steps.size(), 6u) << "inputs and outputs are parts of the whole";
  EXPECT_EQ(steps[0].name, "inputs");
  EXPECT_DOUBLE_EQ(steps[0].measured_us, 2);
  EXPECT_DOUBLE_EQ(steps[1].measured_us, 3);
  EXPECT_EQ(steps[3].measured_us, 0) << "a view costs nothing";
  EXPECT_DOUBLE_EQ(steps[5].measured_us, 2) << "one copy for two outputs";
  double sum = 0;
  for (const StepInfo& step : steps) sum += step.measured_us;
  EXPECT_NEAR(executable->device_us(), sum, 1e-9);
  log.calls.clear();
  ASSERT_TRUE(executable->run_once().ok());
  EXPECT_EQ(log.calls, (std::vector<std::string>{"replay", "synchronise"}));
  executable->profile(false);
  EXPECT_EQ(executable->device_us(), 0);
  EXPECT_EQ(executable->steps()[0].measured_us, 0);
}

/// If a network exceeds the second-level cache, the search prices units with cold caches.
/// The profile uses the same conditions, and does not change the state that it measures.
TEST_F(Fixture, ProfilesUnitsAsTheSearchPricesThem) {
  bool flushed = false;
  log.takes = [&](const std::string& call) {
    flushed |= call == "fill";
    return call == "launch" ? (flushed ? 5.0 : 3.0) : 0.0;
  };
  for (int64_t size : {16, 128}) { // the fake's cache has 64 KiB
    PlanWriter w;
    PlanValueId x = w.input("x", {size, size});
    PlanValueId y = w.run(OpKind::Matmul, {Value::of_enum("none")},
                          {x, w.weight("w", {size, size}), kNoValue, kNoValue});
    w.output("y", w.run(OpKind::Softmax, {Value::of_int(1)}, {y}));
    Plan plan = w.finish();
    prepare(plan);
    auto executable = make(plan);
    ASSERT_TRUE(executable);
    flushed = false;
    ASSERT_TRUE(executable->bind_inputs(*random_inputs(plan, 7)).ok());
    size_t held = log.live_allocations;
    executable->profile(true);
    ASSERT_TRUE(executable->run_once().ok());
    EXPECT_DOUBLE_EQ(executable->steps()[1].measured_us, size == 16 ? 3 : 5);
    EXPECT_EQ(log.live_allocations, held) << "what flushes the cache is given back";
    auto outputs = executable->outputs();
    ASSERT_TRUE(outputs.ok());
    EXPECT_LE(max_rel_diff((*outputs)[0], by_ref(plan, 7)[0]), 1e-4);
  }
}

/// Weights are not loaded. Known units are not timed again, also units that another plan shares.
TEST_F(Fixture, APlanIsPricedByItsUnits) {
  Plan plan = network();
  prepare(plan);
  log.takes = [](const std::string& call) {
    return call == "launch" ? 3.0 : call == "fill" ? 30.0 : 0.0;
  };
  auto known = cuda::PlanDb::open("", {"fake", "none", "units"});
  auto price = [&](const Plan& of, bool cold = false) {
    CompileOptions options;
    options.weights = [](const PlanValue&) -> Result<Tensor> {
      return error(Code::device, "weights are not requested");
    };
    cuda::GraphTiming how;
    how.cold = cold;
    auto timed = cuda::time_plans({&of}, options, std::make_shared<FakeGpu>(library, log), cache,
                                  {}, known.get(), how)[0];
    EXPECT_TRUE(timed.ok()) << (timed.ok() ? "" : timed.error().message);
    return timed ? *timed : cuda::PlanTime{};
  };
  cuda::PlanTime first = price(plan);
  EXPECT_EQ(first.groups, 3u) << "two products, a sum with its norm; a view is not a group";
  EXPECT_EQ(first.timed, 3u);
  EXPECT_NEAR(first.sum.microseconds, 9, 1e-9);
  EXPECT_EQ(log.count("allocate_pinned"), 0u);
  EXPECT_EQ(log.count("replay") > 0, true);
  cuda::PlanTime again = price(plan);
  EXPECT_EQ(again.timed, 0u);
  EXPECT_EQ(again.sum.runs, 15) << "known with their confidence";
  EXPECT_EQ(again.sum.low_us, first.sum.low_us);
  EXPECT_EQ(again.sum.high_us, first.sum.high_us);
  EXPECT_EQ(again.sum.implementation, first.sum.implementation);
  EXPECT_EQ(price(plan, /*cold=*/true).timed, 3u) << "other conditions";
  PlanWriter w; // with the same sum and norm
  PlanValueId sum = w.run(OpKind::Add, {}, {w.input("a", {6, 32}), w.input("b", {6, 32})});
  w.output("y", w.run(OpKind::LayerNorm, {Value::of_float(1e-5)},
                      {sum, w.weight("scale", {32}), w.weight("c", {32})}));
  cuda::PlanTime shared = price(w.finish());
  EXPECT_EQ(shared.groups, 1u);
  EXPECT_EQ(shared.timed, 0u);
  EXPECT_EQ(log.live_allocations, 0u);
}

TEST_F(Fixture, FreesAllMemoryAfterAnyFailure) {
  Plan plan = network();
  prepare(plan);
  ASSERT_TRUE(make(plan));
  size_t calls = log.calls.size();
  EXPECT_EQ(log.live_allocations, 0u);
  for (size_t fails_after = 0; fails_after < calls; ++fails_after) {
    log.calls.clear();
    log.fails_after = fails_after;
    auto made =
        cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log), cache);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().message, "the GPU is lost");
    EXPECT_EQ(log.live_allocations, 0u);
  }
}

TEST_F(Fixture, ReportsAGpuThatIsLostInARun) {
  Plan plan = network();
  prepare(plan);
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  log.fails_after = log.calls.size() + 1;
  EXPECT_FALSE(executable->run_once().ok());
  EXPECT_FALSE(executable->run_once().ok());
}

TEST_F(Fixture, RefusesPlansThatExceedDeviceMemoryBeforeAllocation) {
  Plan plan = network();
  log.memory_bytes = 1000;
  for (int64_t limit : {int64_t{0}, int64_t{1} << 30}) {
    CompileOptions options;
    options.memory_limit_bytes = limit;
    log.stand_ins = true;
    log.calls.clear();
    auto made =
        cuda::CudaExecutable::make(plan, options, std::make_unique<FakeGpu>(library, log), cache);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::memory_limit);
    EXPECT_EQ(log.count("allocate"), 0u);
  }
}

TEST_F(Fixture, MemoryLimitComesBeforeAllocation) {
  Plan plan = network();
  prepare(plan);
  CompileOptions options;
  options.memory_limit_bytes = 1000;
  auto made =
      cuda::CudaExecutable::make(plan, options, std::make_unique<FakeGpu>(library, log), cache);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::memory_limit);
  EXPECT_EQ(log.count("allocate"), 0u);
}

} // namespace
} // namespace tg::test
