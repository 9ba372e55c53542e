// Tests which steps a product absorbs and which are split off it: the resulting plan,
// and its results on a fake library against `ref`.
#include "runtime/cuda/cublas/lower_products.h"

#include "runtime/cuda/executable.h"
#include "tests/unit/cuda/fake_cublaslt.h"
#include "tests/unit/cuda/fake_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

bool any(const cuda::MatmulProblem&) { return true; }

PlanValueId matmul(PlanWriter& w, PlanValueId x, PlanValueId y, const char* act = "none",
                   PlanValueId bias = kNoValue, PlanValueId residual = kNoValue) {
  return w.run(OpKind::Matmul, {Value::of_enum(act)}, {x, y, bias, residual});
}
PlanValueId transpose(PlanWriter& w, PlanValueId x, std::vector<int64_t> axes) {
  return w.run(OpKind::Transpose, {Value::of_ints(std::move(axes))}, {x});
}

/// Attention over adjacent heads with batch 1, as networks write it.
Plan attention() {
  PlanWriter w;
  PlanValueId q = w.input("q", {1, 6, 4, 8}), k = w.input("k", {1, 6, 4, 8}),
              v = w.input("v", {1, 6, 4, 8});
  PlanValueId scores = matmul(w, transpose(w, q, {0, 2, 1, 3}), transpose(w, k, {0, 2, 3, 1}));
  PlanValueId weights = w.run(OpKind::Softmax, {Value::of_int(3)}, {scores});
  PlanValueId heads = matmul(w, weights, transpose(w, v, {0, 2, 1, 3}));
  w.output("y", w.run(OpKind::Relu, {}, {transpose(w, heads, {0, 2, 1, 3})}));
  return w.finish();
}

std::string names(const Plan& plan) {
  std::string all;
  for (const PlanStep& step : plan.steps) all += std::string(op_info(step.op).name) + " ";
  return all;
}

struct LowerProducts : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  SourceCompiler compiler;
  cuda::CubinCache cache{"", compiler};
  cuda::ExecutableLibraries libraries{std::move(*cuda::BlasLt::over(FakeLt::api())), nullptr};

  LowerProducts() { log.prefer_libraries(); }

  /// Compiles the kernels of the steps that the fake library does not run.
  void prepare(const Plan& plan) {
    cuda::LoweredPlan lowered = cuda::lower_products(plan, any);
    library.compile(sources_of(generate_all(
        lowered.plan, [](const PlanStep& step) { return step.op == OpKind::Matmul; })));
  }
  std::unique_ptr<cuda::CudaExecutable> make(const Plan& plan, const CompileOptions& options = {}) {
    auto made = cuda::CudaExecutable::make(plan, options, std::make_unique<FakeGpu>(library, log),
                                           cache, libraries);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }
  void expect_as_ref(const Plan& plan) {
    prepare(plan);
    auto executable = make(plan);
    ASSERT_TRUE(executable);
    auto got = executable->run(*random_inputs(plan, 7));
    ASSERT_TRUE(got.ok());
    auto want = by_ref(plan, 7);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_LE(max_rel_diff((*got)[i], want[i]), 1e-5) << dump(plan);
  }
};

TEST_F(LowerProducts, ActivationsThatTheLibraryLacksAreCutOff) {
  for (const char* act : {"gelu", "tanh", "sigmoid", "relu6"}) {
    PlanWriter w;
    PlanValueId x = w.input("x", {6, 8});
    PlanValueId y = matmul(w, x, w.weight("w", {8, 8}), act, w.weight("b", {8}), x);
    w.output("y", w.run(OpKind::Add, {}, {y, x}));
    Plan plan = w.finish();
    cuda::LoweredPlan lowered = cuda::lower_products(plan, any);
    EXPECT_EQ(names(lowered.plan), std::string("matmul ") + act + " add ");
    EXPECT_EQ(verify(lowered.plan), "");
    EXPECT_EQ(lowered.origin, (std::vector<PlanStepId>{0, 0, 1}));
    ASSERT_TRUE(lowered.problems[0]);
    EXPECT_TRUE(lowered.problems[0]->bias && lowered.problems[0]->residual);
    prepare(plan);
    auto executable = make(plan);
    ASSERT_TRUE(executable);
    ASSERT_EQ(executable->steps().size(), 2u)
        << "the activation is fused with the operators after it";
    EXPECT_EQ(executable->steps()[1].name, std::string(act) + "+add");
    expect_as_ref(plan);
  }
}

TEST_F(LowerProducts, ReluStaysInTheProduct) {
  PlanWriter w;
  w.output("y", matmul(w, w.input("x", {6, 8}), w.weight("w", {8, 8}), "relu"));
  cuda::LoweredPlan lowered = cuda::lower_products(w.finish(), any);
  EXPECT_EQ(names(lowered.plan), "matmul ");
  EXPECT_TRUE(lowered.problems[0]->relu);
}

TEST_F(LowerProducts, TransposesAreReadAndWrittenThrough) {
  Plan plan = attention();
  cuda::LoweredPlan lowered = cuda::lower_products(plan, any);
  EXPECT_EQ(names(lowered.plan), "matmul softmax matmul relu ");
  ASSERT_TRUE(lowered.problems[0] && lowered.problems[2]);
  EXPECT_EQ(cuda::text(*lowered.problems[0]), "matmul f32 6x8x6 batch 4 x:32+8 y':32+8 z:6+36");
  EXPECT_EQ(cuda::text(*lowered.problems[2]), "matmul f32 6x6x8 batch 4 x:6+36 y:32+8 z:32+8");
  expect_as_ref(plan);
}

TEST_F(LowerProducts, ATransposeThatOthersReadIsKeptForThem) {
  PlanWriter w;
  PlanValueId x = w.input("x", {6, 8});
  PlanValueId turned = transpose(w, x, {1, 0});
  w.output("y", matmul(w, turned, w.input("z", {6, 4})));
  w.output("turned", w.run(OpKind::Relu, {}, {turned}));
  Plan plan = w.finish();
  cuda::LoweredPlan lowered = cuda::lower_products(plan, any);
  EXPECT_EQ(names(lowered.plan), "transpose matmul relu ");
  EXPECT_TRUE(lowered.problems[1]->x.transposed);
  expect_as_ref(plan);
}

TEST_F(LowerProducts, DoNotFuseOneTransposeIntoTwoProducts) {
  PlanWriter w;
  PlanValueId made = matmul(w, w.input("x", {2, 6, 8}), w.input("y", {2, 8, 4}));
  PlanValueId turned = transpose(w, made, {1, 0, 2});
  w.output("z", matmul(w, turned, w.input("w", {6, 4, 3})));
  Plan plan = w.finish();
  EXPECT_EQ(names(cuda::lower_products(plan, any).plan), "matmul matmul ");
  expect_as_ref(plan);
}

TEST_F(LowerProducts, RefusalsLeaveThePlanAsItWas) {
  Plan plan = attention();
  cuda::LoweredPlan lowered =
      cuda::lower_products(plan, [](const cuda::MatmulProblem&) { return false; });
  EXPECT_EQ(dump(lowered.plan), dump(plan));
  // Refuses strided forms and accepts plain ones.
  lowered = cuda::lower_products(plan, [](const cuda::MatmulProblem& p) {
    return !p.x.transposed && !p.y.transposed && p.y.leading == p.n && p.result.leading == p.n &&
           p.x.leading == p.k;
  });
  EXPECT_EQ(dump(lowered.plan), dump(plan));
  EXPECT_TRUE(lowered.problems[2]);
}

TEST_F(LowerProducts, Tf32OnlyWhereItIsAllowed) {
  PlanWriter w;
  w.output("y", matmul(w, w.input("x", {6, 8}), w.weight("w", {8, 8})));
  Plan plan = w.finish();
  FakeLt::computes().clear();
  ASSERT_TRUE(make(plan));
  CompileOptions options;
  options.allow_tf32 = true;
  ASSERT_TRUE(make(plan, options));
  EXPECT_EQ(FakeLt::computes(), (std::vector<int>{68, 77}));
}

TEST_F(LowerProducts, AKeptPlanIsNotMeasuredAgain) {
  PlanWriter w;
  w.output("y", matmul(w, w.input("x", {6, 8}), w.weight("w", {8, 8})));
  Plan plan = w.finish();
  libraries.blas_plans = cuda::PlanDb::open("", {"GPU", "driver", "cuBLASLt"});
  auto first = make(plan);
  EXPECT_GT(log.count("record"), 0u);
  log.calls.clear();
  auto second = make(plan);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(log.count("record"), 0u);
  EXPECT_EQ(second->steps()[0].implementation, "cublaslt:2 of 2");
  // An algorithm that the library no longer offers is measured again, with a note.
  libraries.blas_plans->store("matmul f32 6x8x8", {"17.0.0.0.0.0.0.0", 1});
  ASSERT_TRUE(make(plan));
  EXPECT_GT(log.count("record"), 0u);
  EXPECT_EQ(libraries.blas_plans->notes().back(), "the plan for `matmul f32 6x8x8` is not used: "
                                                  "the library no longer offers it");
  EXPECT_NE(libraries.blas_plans->find("matmul f32 6x8x8")->plan, "17.0.0.0.0.0.0.0");
}

/// The library may refuse at a run an algorithm that it proposes, or that a stored plan names.
TEST_F(LowerProducts, TryStoredAndOnlyAlgorithmsBeforeUse) {
  libraries.blas_plans = cuda::PlanDb::open("", {"GPU", "driver", "cuBLASLt"});
  auto plan_of = [](int64_t columns) {
    PlanWriter w;
    w.output("y", matmul(w, w.input("x", {6, 8}), w.weight("w", {8, columns})));
    return w.finish();
  };
  libraries.blas_plans->store("matmul f32 6x8x8", {"0.0.0.0.0.0.0.0", 1}); // the fake refuses it
  auto kept = make(plan_of(8));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->steps()[0].implementation, "cublaslt:2 of 2") << "measured anew";
  EXPECT_EQ(libraries.blas_plans->notes().back(),
            "the plan for `matmul f32 6x8x8` is not used: it "
            "does not run: cuBLASLt returned no product (status "
            "13)");
  // For 19 columns the only algorithm refuses, for 17 columns both, stored or not:
  // a generated kernel runs.
  for (int64_t columns : {19, 17}) {
    Plan refused = plan_of(columns);
    std::string operation = "matmul f32 6x8x" + std::to_string(columns);
    library.compile(sources_of(generate_all(refused, [](const PlanStep&) { return false; })));
    libraries.blas_plans->store(operation, {"0.0.0.0.0.0.0.0", 1});
    for (int load = 0; load < 2; ++load) {
      expect_as_ref(refused);
      EXPECT_EQ(make(refused)->steps()[0].implementation.substr(0, 5), "cuda:");
    }
    std::vector<std::string> notes = libraries.blas_plans->notes();
    EXPECT_EQ(llvm::count(notes, "the plan for `" + operation +
                                     "` is not used: none of the library's algorithms runs: "
                                     "cuBLASLt returned no product (status 13)"),
              1)
        << "said once";
  }
}

TEST_F(LowerProducts, AProductIsTriedOnceInAProcess) {
  libraries.blas_plans = cuda::PlanDb::open("", {"GPU", "driver", "cuBLASLt"});
  PlanWriter w;
  w.output("y", matmul(w, w.input("x", {6, 8}), w.weight("w", {8, 8})));
  Plan plan = w.finish();
  ASSERT_TRUE(make(plan));
  log.calls.clear();
  ASSERT_TRUE(make(plan));
  EXPECT_EQ(log.count("release"), 0u) << "no scratch memory for trials";
}

/// x @ w + b, followed by a gelu. `cube` is the coefficient of the third power;
/// `most`, unless 0, is an upper limit of the gelu's argument.
Plan with_gelu(DType dtype, double cube, bool as_map, bool read_too = false, double most = 0) {
  PlanWriter w;
  PlanValueId sum =
      matmul(w, w.input("x", {6, 8}), w.weight("w", {8, 12}), "none", w.weight("b", {12}));
  auto number = [&](double value) { return w.constant({}, {value}); };
  auto step = [&](OpKind op, PlanValueId a, PlanValueId b) { return w.run(op, {}, {a, b}); };
  PlanValueId up = most == 0 ? sum : step(OpKind::Minimum, sum, number(most));
  PlanValueId y = kNoValue;
  if (as_map) {
    const char* body = "mul(mul($1, $0), add($2, tanh(mul($3, add($0, mul($4, mul($0, mul($0, "
                       "$0))))))))";
    y = w.run(OpKind::FusedMap, {Value::of_string(body)},
              {up, number(0.5), number(1), number(0.7978845608028654), number(cube)});
  } else {
    PlanValueId third =
        step(OpKind::Mul, number(cube), step(OpKind::Mul, step(OpKind::Mul, up, up), up));
    PlanValueId inner = step(OpKind::Mul, number(0.7978845608028654), step(OpKind::Add, up, third));
    PlanValueId outer = step(OpKind::Add, number(1), w.run(OpKind::Tanh, {}, {inner}));
    y = step(OpKind::Mul, step(OpKind::Mul, number(0.5), up), outer);
  }
  if (read_too) w.output("up", sum);
  w.output("y", w.run(OpKind::Exp, {}, {y}));
  Plan plan = w.finish();
  for (PlanValue& value : plan.values) value.type.dtype = dtype;
  return plan;
}

TEST_F(LowerProducts, GeluByTanhJoinsTheProductInHalfTypes) {
  for (bool as_map : {false, true}) {
    for (DType dtype : {DType::F16, DType::BF16}) {
      cuda::LoweredPlan lowered = cuda::lower_products(with_gelu(dtype, 0.044715, as_map), any);
      EXPECT_EQ(names(lowered.plan), "matmul exp ");
      ASSERT_TRUE(lowered.problems[0]);
      EXPECT_EQ(text(*lowered.problems[0]).substr(11),
                dtype == DType::F16 ? "6x8x12 bias gelu_tanh" : " 6x8x12 bias gelu_tanh");
    }
    auto kept = [&](const Plan& plan, const cuda::CanMultiply& can = any) {
      return names(cuda::lower_products(plan, can).plan) == names(plan);
    };
    EXPECT_TRUE(kept(with_gelu(DType::F32, 0.044715, as_map))) << "how near is their tanh?";
    EXPECT_TRUE(kept(with_gelu(DType::F16, 0.05, as_map))) << "another function";
    EXPECT_TRUE(kept(with_gelu(DType::F16, 0.044715, as_map, true))) << "the product is wanted";
    for (double most : {6.5, 50.0, 5e4})
      EXPECT_TRUE(kept(with_gelu(DType::F16, 0.044715, as_map, false, most))) << most;
    EXPECT_TRUE(kept(with_gelu(DType::F16, 0.044715, as_map),
                     [](const cuda::MatmulProblem& p) { return !p.gelu; }));
  }
}

TEST_F(LowerProducts, GeluOfTheLibraryIsTheOneByTanh) {
  Plan plan = with_gelu(DType::F32, 0.044715, false);
  auto problem = cuda::matmul_problem(plan, plan.steps[0]);
  ASSERT_TRUE(problem);
  problem->gelu = true;
  auto product = libraries.blas->plan(*problem, 1 << 20);
  ASSERT_TRUE(product.ok());
  std::vector<float> x(48, 0.5f), y(96, 0.25f), bias(12, 0.125f), z(72), workspace(1 << 10);
  auto at = [](std::vector<float>& v) { return reinterpret_cast<uint64_t>(v.data()); };
  ASSERT_TRUE((*product)->run(1, {at(x), at(y), at(bias), 0, at(z), at(workspace)}, nullptr).ok());
  EXPECT_NEAR(z[0], 0.5 * 1.125 * (1 + std::tanh(0.7978845608 * (1.125 + 0.044715 * 1.423828125))),
              1e-6);
}

} // namespace
} // namespace tg::test
