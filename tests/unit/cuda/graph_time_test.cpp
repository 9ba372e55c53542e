// Tests measurements on a fake clock: copies, flushes, medians and their intervals;
// and times of operators as the cost model requests them.
#include "runtime/cuda/tuning/graph_time.h"

#include "runtime/cuda/tuning/step_timer.h"
#include "runtime/measure/measure.h"
#include "tests/unit/cuda/fake_cublaslt.h"
#include "tests/unit/cuda/fake_gpu.h"

#include <random>

namespace tg::test {
namespace {

struct GraphTimeTest : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  FakeGpu gpu{library, log};

  Result<cuda::GraphTime> time(const cuda::GraphTiming& how = {}) {
    auto address = gpu.allocate(64);
    std::vector<std::byte> bytes(64);
    return cuda::GraphTimer(gpu, 0).time([&] { return gpu.copy_in(*address, bytes.data(), 64, 0); },
                                         how);
  }
};

TEST_F(GraphTimeTest, IsTheTimeOfOneCopyWithoutTheGraphs) {
  log.takes = [](const std::string& call) { return call == "copy_in" ? 2.5 : 0.0; };
  auto found = time();
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ(found->microseconds, 2.5);
  EXPECT_EQ(found->runs, 15);
  EXPECT_EQ(log.count("begin_capture"), 2u) << "a few copies, then as many as take long enough";
  EXPECT_GE(log.count("copy_in"), 200u);
  EXPECT_EQ(log.live_graphs, 0u) << "a load measures hundreds of them";
}

TEST_F(GraphTimeTest, SlowWorkIsNotCopied) {
  log.takes = [](const std::string& call) { return call == "copy_in" ? 9000.0 : 0.0; };
  ASSERT_TRUE(time().ok());
  EXPECT_EQ(log.count("copy_in"), 4u + 1);
}

TEST_F(GraphTimeTest, NoiseWidensTheIntervalAndAsksForMore) {
  auto noise = std::make_shared<std::mt19937>(1);
  log.takes = [noise](const std::string& call) {
    if (call != "copy_in") return 0.0;
    return 2.0 + ((*noise)() % 1000) * 1e-3; // 2 to 3 us
  };
  // One copy per replay, so that copies do not average the noise out.
  cuda::GraphTiming how;
  how.cold = true;
  auto found = time(how);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->runs, how.most_samples);
  EXPECT_LT(found->low, found->microseconds);
  EXPECT_GT(found->high, found->microseconds);
  EXPECT_NEAR(found->microseconds, 2.5, 0.2);
}

TEST_F(GraphTimeTest, ColdFlushesTheCacheAndDoesNotCountThat) {
  log.takes = [](const std::string& call) {
    return call == "fill" ? 30.0 : call == "copy_in" ? 2.5 : 0.0;
  };
  cuda::GraphTiming how;
  how.cold = true;
  auto found = time(how);
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ(found->microseconds, 2.5);
  EXPECT_EQ(log.count("fill"), 2u) << "before the work, and alone";
  EXPECT_EQ(log.live_graphs, 0u);
}

TEST_F(GraphTimeTest, SeveralPiecesShareAGraphAndTheirTimesAreThoseOfEachAlone) {
  auto address = gpu.allocate(64);
  std::vector<std::byte> bytes(64);
  auto in = [&](int) { return gpu.copy_in(*address, bytes.data(), 64, 0); };
  auto out = [&](int) { return gpu.copy_out(bytes.data(), *address, 64, 0); };
  log.takes = [](const std::string& call) {
    std::map<std::string, double> takes = {
        {"copy_in", 2.5}, {"copy_out", 40}, {"fill", 30}, {"record", 1.5}};
    return takes[call];
  };
  for (bool cold : {false, true}) {
    log.calls.clear();
    cuda::GraphTiming how;
    how.cold = cold;
    cuda::GraphTimer timer(gpu, 0);
    auto found = timer.time_together({{in, 8}, {out, 2}}, how);
    ASSERT_TRUE(found.ok());
    EXPECT_DOUBLE_EQ((*found)[0].microseconds, 2.5) << "without what events take";
    EXPECT_DOUBLE_EQ((*found)[1].microseconds, 40);
    EXPECT_EQ((*found)[0].runs, 15);
    EXPECT_EQ(log.count("begin_capture"), cold ? 1u : 2u);
    EXPECT_EQ(log.count("fill"), cold ? 1u : 0u) << "one flush for all";
    EXPECT_EQ(log.count("copy_in"), cold ? 8u : 1 + 4 + 1 + 200u);
    EXPECT_EQ(log.count("replay"), cold ? 16u : 18u);
    EXPECT_EQ(log.live_graphs, 0u);
  }
}

TEST_F(GraphTimeTest, NoiseOfOnePieceAsksForMoreOfAll) {
  auto noise = std::make_shared<std::mt19937>(1);
  log.takes = [noise](const std::string& call) {
    return call == "copy_in" ? 2.0 + ((*noise)() % 1000) * 1e-3 : call == "copy_out" ? 40 : 0.0;
  };
  auto address = gpu.allocate(64);
  std::vector<std::byte> bytes(64);
  cuda::GraphTiming how;
  how.cold = true;
  auto found = cuda::GraphTimer(gpu, 0).time_together(
      {{[&](int) { return gpu.copy_in(*address, bytes.data(), 64, 0); }, 1},
       {[&](int) { return gpu.copy_out(bytes.data(), *address, 64, 0); }, 1}},
      how);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].runs, how.most_samples);
  EXPECT_NEAR((*found)[0].microseconds, 2.5, 0.2);
  EXPECT_DOUBLE_EQ((*found)[1].microseconds, 40);
}

TEST_F(GraphTimeTest, AFailureLeavesNoStreamCaptured) {
  auto found = cuda::GraphTimer(gpu, 0).time(
      [] { return Result<void>(error(Code::device, "refused")); }, {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "refused");
  EXPECT_EQ(log.count("begin_capture"), log.count("end_capture"));
  EXPECT_EQ(log.live_graphs, 0u);
}

TEST(MedianWithInterval, IsDistributionFree) {
  std::vector<double> samples;
  for (int i = 100; i > 0; --i) samples.push_back(i);
  cuda::GraphTime found = cuda::median_with_interval(samples);
  EXPECT_DOUBLE_EQ(found.microseconds, 50.5);
  EXPECT_DOUBLE_EQ(found.low, 41); // rank 41 by Conover's table for n = 100
  EXPECT_DOUBLE_EQ(found.high, 60);
  EXPECT_DOUBLE_EQ(cuda::median_with_interval({3}).low, 3);
}

StepSpec product() {
  StepSpec spec;
  spec.op = OpKind::Matmul;
  spec.attrs = {Value::of_enum("none")};
  spec.operands = {f32({8, 16}), f32({16, 4}), TensorType{}, TensorType{}};
  spec.result = f32({8, 4});
  spec.weight_operands = 0b10;
  return spec;
}

TEST(PlanOfStep, IsSound) {
  StepSpec in_place = product();
  in_place.in_place = 0;
  Plan plan = cuda::plan_of_step(in_place);
  EXPECT_EQ(verify(plan), "");
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].in_place, kNoValue) << "a copy would find its operand gone";
  EXPECT_EQ(plan.values[plan.steps[0].operands[0]].kind, PlanValue::Kind::Input);
  EXPECT_EQ(plan.values[plan.steps[0].operands[1]].kind, PlanValue::Kind::Weight);
}

struct StepTimerTest : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  SourceCompiler compiler;
  cuda::CubinCache cache{"", compiler};
  std::unique_ptr<cuda::PlanDb> known = cuda::PlanDb::open("", {"fake", "none", "units"});
  std::shared_ptr<const cuda::BlasLt> blas; // null: products are generated
  cuda::GraphStepTimer timer{
      [this](llvm::ArrayRef<const Plan*> plans, const CompileOptions& options,
             const cuda::GraphTiming& how, cuda::KnownUnits use) {
        bool all = use == cuda::KnownUnits::Ignore;
        return cuda::time_plans(plans, options, std::make_shared<FakeGpu>(library, log), cache,
                                {blas}, all ? nullptr : known.get(), how);
      },
      /*l2_bytes=*/1 << 16};

  void SetUp() override {
    library.compile(sources_of(
        generate_all(cuda::plan_of_step(product()), [](const PlanStep&) { return false; })));
    log.takes = [](const std::string& call) {
      return call == "launch" ? 7.0 : call == "fill" ? 30.0 : 0.0;
    };
  }
};

TEST_F(StepTimerTest, TimesOneStepHotOrCold) {
  for (CacheState cache : {CacheState::Hot, CacheState::Cold}) {
    MeasureOptions options;
    options.cache = cache;
    auto times = timer.time({product()}, options);
    ASSERT_TRUE(times[0].ok()) << times[0].error().message;
    EXPECT_NEAR(times[0]->microseconds, 7, 1e-9);
    EXPECT_EQ(times[0]->runs, 15);
    EXPECT_EQ(times[0]->low_us, times[0]->high_us) << "this clock has no noise";
    EXPECT_NE(times[0]->implementation.find("cuda:"), std::string::npos);
    EXPECT_EQ(log.live_allocations, 0u);
  }
}

/// Two equal products, independent of each other.
Plan two_products() {
  Plan plan;
  MeasurePlanBuilder build(plan);
  for (const char* name : {"one", "other"})
    build.output(name, build.copy(product(), [&](const TensorType& type, std::string operand) {
      return build.value(PlanValue::Kind::Input, type, std::move(operand));
    }));
  return plan;
}

TEST_F(StepTimerTest, PricesPlansUnderTheSameConditions) {
  Plan plan = two_products();
  for (CacheState cache : {CacheState::Hot, CacheState::Cold}) {
    MeasureOptions options;
    options.cache = cache;
    auto price = timer.price({&plan}, options)[0];
    ASSERT_TRUE(price.ok()) << price.error().message;
    EXPECT_EQ(price->groups, 2u);
    EXPECT_EQ(price->timed, 1u) << "equal ones once";
    EXPECT_NEAR(price->microseconds, 14, 1e-9);
  }
}

/// A matrix with this many rows, times a small matrix.
StepSpec product_of(int64_t rows, int64_t columns = 4) {
  StepSpec spec = product();
  spec.operands[0] = f32({rows, 16});
  spec.operands[1] = f32({16, columns});
  spec.result = f32({rows, columns});
  return spec;
}
Plan plan_of_product(int64_t rows) { return cuda::plan_of_step(product_of(rows)); }

TEST_F(StepTimerTest, GroupsOfSeveralPlansAreTimedTogether) {
  Plan a = plan_of_product(8), b = plan_of_product(16), c = plan_of_product(24);
  std::vector<const Plan*> plans = {&a, &b, &c, &a};
  log.stand_ins = true;
  library.compile({});
  log.takes = [](const std::string& call) {
    return call == "launch" ? 7.0 : call == "fill" ? 30.0 : call == "record" ? 0.5 : 0.0;
  };
  for (CacheState state : {CacheState::Hot, CacheState::Cold}) {
    MeasureOptions options;
    options.cache = state;
    known = cuda::PlanDb::open("", {"fake", "none", "units"});
    std::vector<double> alone;
    log.calls.clear();
    for (const Plan* plan : plans) alone.push_back(timer.price({plan}, options)[0]->microseconds);
    size_t captures_alone = log.count("begin_capture"), replays_alone = log.count("replay");
    known = cuda::PlanDb::open("", {"fake", "none", "units"});
    log.calls.clear();
    auto together = timer.price(plans, options);
    size_t of_batch = state == CacheState::Cold ? 1 : 2;
    EXPECT_EQ(log.count("begin_capture"), of_batch);
    EXPECT_EQ(captures_alone, 3 * of_batch);
    EXPECT_EQ(3 * log.count("replay"), replays_alone);
    size_t timed = 0;
    for (size_t i = 0; i < plans.size(); ++i) {
      ASSERT_TRUE(together[i].ok()) << together[i].error().message;
      EXPECT_NEAR(together[i]->microseconds, alone[i], 1e-9);
      EXPECT_NEAR(together[i]->microseconds, 7, 1e-9);
      timed += together[i]->timed;
    }
    EXPECT_EQ(timed, 3u) << "the fourth is the first";
    EXPECT_EQ(log.live_allocations, 0u);
    EXPECT_EQ(log.live_graphs, 0u);
  }
}

TEST_F(StepTimerTest, APlanThatHasNoPriceLeavesTheOthersTheirs) {
  Plan small = plan_of_product(8), large = plan_of_product(1 << 20);
  log.stand_ins = true;
  library.compile({});
  MeasureOptions options;
  options.memory_limit_bytes = 1 << 20;
  auto prices = timer.price({&large, &small}, options);
  ASSERT_FALSE(prices[0].ok());
  EXPECT_EQ(prices[0].error().code, Code::memory_limit);
  ASSERT_TRUE(prices[1].ok());
  EXPECT_EQ(prices[1]->timed, 1u);
  log.fails_after = 0;
  for (const auto& price : timer.price({&small, &large}, options)) EXPECT_FALSE(price.ok());
}

/// The library takes 20 us, each kernel 7 us.
struct OperatorTimesTest : StepTimerTest {
  void SetUp() override {
    blas = std::move(*cuda::BlasLt::over(FakeLt::api()));
    log.stand_ins = true;
    library.compile({});
    log.takes = [](const std::string& call) {
      std::map<std::string, double> takes = {
          {"library", 20}, {"launch", 7}, {"fill", 30}, {"record", 0.5}};
      return takes[call];
    };
  }
  static StepSpec gelu() {
    StepSpec spec = product_of(8);
    spec.attrs = {Value::of_enum("gelu")};
    return spec;
  }
  static StepSpec relu() {
    StepSpec spec;
    spec.op = OpKind::Relu;
    spec.operands = {f32({64})};
    spec.result = f32({64});
    return spec;
  }
};

TEST_F(OperatorTimesTest, SeveralShareAGraphAndComeBackInTheirOrder) {
  std::vector<StepSpec> steps = {gelu(), relu(), product_of(8), relu(), product_of(16)};
  std::vector<double> wanted = {27, 7, 20, 7, 20};
  for (CacheState state : {CacheState::Hot, CacheState::Cold}) {
    MeasureOptions options;
    options.cache = state;
    // Algorithms of three products are timed in separate graphs: two graphs for each
    // of two candidates, or one if they are cold. The first candidate refuses before the capture.
    log.calls.clear();
    auto times = timer.time(steps, options);
    bool cold = state == CacheState::Cold;
    EXPECT_EQ(log.count("begin_capture"), cold ? 3 * 1 + 1u : 3 * 2 + 2u);
    EXPECT_EQ(log.count("fill"), cold ? 3 + 1u : 0u) << "one flush for all";
    EXPECT_EQ(log.count("stream"), 1u) << "one device";
    ASSERT_EQ(times.size(), steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      ASSERT_TRUE(times[i].ok()) << times[i].error().message;
      EXPECT_NEAR(times[i]->microseconds, wanted[i], 1e-9) << i;
      EXPECT_EQ(times[i]->runs, 15);
      EXPECT_EQ(times[i]->low_us, times[i]->high_us) << "this clock has no noise";
      EXPECT_EQ(times[i]->implementation, timer.time(steps[i], options)[0]->implementation);
    }
    EXPECT_EQ(times[2]->implementation, "cublaslt:2 of 2");
    EXPECT_EQ(times[0]->implementation.find("cublaslt:2 of 2 + cuda:map"), 0u);
    EXPECT_EQ(log.live_allocations, 0u);
    EXPECT_EQ(log.live_graphs, 0u);
  }
}

TEST_F(OperatorTimesTest, ColdCopiesAreAsManyAsFitIntoTheLimit) {
  MeasureOptions options;
  options.cache = CacheState::Cold;
  for (int64_t limit : {0, 8 * 512}) { // of the two values of relu
    options.memory_limit_bytes = limit;
    log.calls.clear();
    ASSERT_TRUE(timer.time(relu(), options)[0].ok());
    EXPECT_EQ(log.count("launch"), 1u + (limit == 0 ? 16 : 8)) << "one to load it";
  }
}

TEST_F(OperatorTimesTest, OperandsArePlainNumbersAndIndicesZeros) {
  StepSpec gather;
  gather.op = OpKind::Gather;
  gather.attrs = {Value::of_int(0)};
  gather.operands = {f32({64}), {DType::I64, {8}}};
  gather.result = f32({8});
  Result<Tensor> numbers = plain_numbers(gather.operands[0]);
  ASSERT_TRUE(numbers.ok());
  size_t seen = 0;
  log.on_launch = [&](llvm::ArrayRef<cuda::Address> parameters) {
    ++seen;
    ASSERT_EQ(parameters.size(), 3u); // results, then operands in the order of their first use
    const auto* x = reinterpret_cast<const float*>(parameters[2]);
    EXPECT_EQ(numbers->floats(), llvm::ArrayRef(x, 64));
    const auto* index = reinterpret_cast<const int64_t*>(parameters[1]);
    EXPECT_EQ(std::count(index, index + 8, 0), 8);
  };
  ASSERT_TRUE(timer.time(gather, {})[0].ok());
  EXPECT_GT(seen, 0u);
}

TEST_F(OperatorTimesTest, OneThatFailsDoesNotTakeTheOthersAlong) {
  std::vector<StepSpec> steps = {product_of(8), product_of(8, /*columns=*/23), relu()};
  // It refuses after the choice of algorithms, which takes two graphs for each product.
  log.takes = [this, takes = log.takes](const std::string& call) {
    FakeLt::refuses_23_columns() |=
        log.count("begin_capture") >= 4 && log.calls.back() == "library";
    return takes(call);
  };
  FakeLt::refuses_23_columns() = false;
  auto times = timer.time(steps, {});
  ASSERT_TRUE(times[0].ok() && times[2].ok());
  EXPECT_NEAR(times[0]->microseconds, 20, 1e-9);
  EXPECT_NEAR(times[2]->microseconds, 7, 1e-9);
  ASSERT_FALSE(times[1].ok());
  EXPECT_EQ(times[1].error().code, Code::device);
  EXPECT_EQ(log.live_allocations, 0u);
  EXPECT_EQ(log.live_graphs, 0u);
}

TEST_F(OperatorTimesTest, AreMeasuredOnRequestEvenIfGroupsHaveThem) {
  Plan plan = cuda::plan_of_step(relu());
  ASSERT_TRUE(timer.price({&plan}, {})[0].ok());
  log.takes = [](const std::string& call) { return call == "launch" ? 9.0 : 0.0; };
  EXPECT_NEAR(timer.time(relu(), {})[0]->microseconds, 9, 1e-9);
  EXPECT_NEAR(timer.price({&plan}, {})[0]->microseconds, 7, 1e-9) << "a price stays";
}

TEST_F(OperatorTimesTest, ReportALostGpuForEach) {
  for (size_t calls : {0, 5, 20}) {
    log.calls.clear();
    log.fails_after = calls;
    for (const auto& time : timer.time({relu(), product_of(8)}, {})) EXPECT_FALSE(time.ok());
    EXPECT_EQ(log.live_allocations, 0u);
  }
}

TEST_F(StepTimerTest, ANetworkBeyondTheCacheFindsItsOperandsCold) {
  MeasureOptions options;
  options.network_bytes = 1 << 10;
  EXPECT_EQ(timer.conditions(options), "captured graph, hot");
  options.network_bytes = 1 << 20;
  EXPECT_EQ(timer.conditions(options), "captured graph, cold");
  options.cache = CacheState::Hot;
  options.allow_tf32 = true;
  EXPECT_EQ(timer.conditions(options), "captured graph, hot, tf32");
}

TEST_F(StepTimerTest, ErrorsAreOfTheStepAlone) {
  StepSpec large = product();
  large.operands[0] = f32({1 << 20, 16});
  large.result = f32({1 << 20, 4});
  library.compile(
      sources_of(generate_all(cuda::plan_of_step(large), [](const PlanStep&) { return false; })));
  MeasureOptions options;
  options.memory_limit_bytes = 1 << 16;
  auto times = timer.time({large, product()}, options);
  ASSERT_FALSE(times[0].ok());
  EXPECT_EQ(times[0].error().code, Code::memory_limit);
  EXPECT_TRUE(times[1].ok());
}

} // namespace
} // namespace tg::test
