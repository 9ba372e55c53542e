// Tests products through cuBLASLt on a fake that follows its documentation:
// the calls, the results against `ref`, and which steps remain with generated kernels.
#include "runtime/cuda/cublas/matmul.h"

#include "runtime/cuda/executable.h"
#include "tests/unit/cuda/fake_cublaslt.h"
#include "tests/unit/cuda/fake_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::test {
namespace {

struct Matmul : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  SourceCompiler compiler;
  cuda::CubinCache cache{"", compiler};
  std::shared_ptr<const cuda::BlasLt> blas = std::move(*cuda::BlasLt::over(FakeLt::api()));
  std::shared_ptr<cuda::PlanDb> plans;

  Matmul() { log.prefer_libraries(); }
  static Plan product(Shape x, Shape y, const char* act, bool bias, bool residual) {
    PlanWriter w;
    PlanValueId left = w.input("x", x), right = w.input("y", y);
    Shape out;
    EXPECT_TRUE(broadcast_shapes(llvm::ArrayRef<int64_t>(x).drop_back(2),
                                 llvm::ArrayRef<int64_t>(y).drop_back(2), out));
    out.append({x[x.size() - 2], y.back()});
    PlanValueId b = bias ? w.weight("b", {y.back()}) : kNoValue;
    PlanValueId r = residual ? w.input("r", out) : kNoValue;
    w.output("z", w.run(OpKind::Matmul, {Value::of_enum(act)}, {left, right, b, r}));
    return w.finish();
  }
  static std::optional<cuda::MatmulProblem> problem(const Plan& plan) {
    return cuda::matmul_problem(plan, plan.steps[0]);
  }
  std::unique_ptr<cuda::CudaExecutable> make(const Plan& plan) {
    auto made = cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log), cache,
                                           {blas, plans});
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }
};

TEST_F(Matmul, AgreesWithRef) {
  struct Case {
    Shape x, y;
  };
  for (const Case& c : {Case{{5, 7}, {7, 3}}, Case{{2, 5, 7}, {7, 3}}, Case{{2, 5, 7}, {2, 7, 3}},
                        Case{{5, 7}, {4, 7, 3}}, Case{{2, 3, 5, 7}, {2, 3, 7, 4}}})
    for (const char* act : {"none", "relu"})
      for (bool bias : {false, true})
        for (bool residual : {false, true}) {
          Plan plan = product(c.x, c.y, act, bias, residual);
          ASSERT_TRUE(problem(plan));
          auto executable = make(plan);
          ASSERT_TRUE(executable);
          EXPECT_EQ(executable->steps()[0].implementation, "cublaslt:2 of 2");
          auto got = executable->run(*random_inputs(plan, 7));
          ASSERT_TRUE(got.ok());
          EXPECT_LE(max_rel_diff((*got)[0], by_ref(plan, 7)[0]), 1e-6) << dump(plan);
        }
}

TEST_F(Matmul, OneMatrixForABatchIsOneProduct) {
  auto p = problem(product({8, 16, 32}, {32, 64}, "none", false, false));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->m, 8 * 16);
  EXPECT_EQ(p->batch, 1);
}

TEST_F(Matmul, UsesGeneratedKernelsForMissingProducts) {
  EXPECT_FALSE(problem(product({5, 7}, {7, 3}, "gelu", false, false))) << "its gelu is another";
  EXPECT_FALSE(problem(product({2, 1, 5, 7}, {1, 3, 7, 4}, "none", false, false)));
  Plan refused = product({5, 7}, {7, 13}, "none", false, false); // the fake refuses 13 columns
  library.compile(sources_of(generate_all(refused, [](const PlanStep&) { return false; })));
  auto executable = make(refused);
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->steps()[0].implementation, "cuda:serial:v1:t128");
}

/// For few rows, a generated kernel also reads the matrix once, and it fuses.
/// The library is used only if it is clearly faster.
TEST_F(Matmul, GeneratesProductsOfFewRowsUnlessTheLibraryIsFaster) {
  Plan few = product({1, 64}, {64, 32}, "relu", true, false);
  Plan many = product({8, 64}, {64, 32}, "relu", true, false);
  plans = cuda::PlanDb::open("", {"GPU", "driver", "cuBLASLt"});
  for (const Plan& plan : {few, many})
    library.compile(sources_of(generate_all(plan, [](const PlanStep&) { return false; })));
  for (double generated : {1.2, 1.0}) { // against 1 us of the library
    plans = cuda::PlanDb::open("", {"GPU", "driver", "cuBLASLt"});
    log.takes = [generated](const std::string& call) {
      return call == "record" ? 0.0 : call == "launch" ? generated : 1.0;
    };
    for (int load = 0; load < 2; ++load) {
      log.calls.clear();
      auto executable = make(few);
      ASSERT_TRUE(executable);
      EXPECT_EQ(executable->steps()[0].implementation,
                generated > 1 ? "cublaslt:2 of 2"
                              : "cuda:columns:v4:t64:r8:k2 (1.0 us, cuBLASLt 1.0 us)");
      EXPECT_EQ(log.count("record") > 0, load == 0) << "then it is kept";
      auto got = executable->run(*random_inputs(few, 7));
      ASSERT_TRUE(got.ok());
      EXPECT_LE(max_rel_diff((*got)[0], by_ref(few, 7)[0]), 1e-6);
    }
    EXPECT_EQ(make(many)->steps()[0].implementation, "cublaslt:2 of 2");
  }
}

TEST_F(Matmul, AlgorithmsAreMeasuredOnceForEqualProducts) {
  PlanWriter w;
  PlanValueId x = w.input("x", {16, 16});
  for (int i = 0; i < 5; ++i)
    x = w.run(OpKind::Matmul, {Value::of_enum("relu")},
              {x, w.weight(("w" + std::to_string(i)).c_str(), {16, 16}), kNoValue, kNoValue});
  w.output("y", x);
  Plan plan = w.finish();
  auto executable = make(plan);
  ASSERT_TRUE(executable);
  EXPECT_EQ(log.count("record"), 2u * (1 + 2 + 1 + 5))
      << "the one that works: once, copies, warming, five";
  EXPECT_EQ(executable->memory().workspace, 512);
  log.calls.clear();
  ASSERT_TRUE(executable->run_once().ok());
  EXPECT_EQ(log.calls, (std::vector<std::string>{"replay", "synchronise"}));
}

/// Libraries load their kernels on the first run. Not every driver allows that during a capture.
TEST_F(Matmul, RunsOnceBeforeItIsCaptured) {
  Plan plan = product({8, 16}, {16, 12}, "none", true, false);
  plans = cuda::PlanDb::open("", {"fake", "none", "fake"});
  auto first = [&](const char* call) { return llvm::find(log.calls, call) - log.calls.begin(); };
  for (bool known : {false, true}) {
    log.calls.clear();
    ASSERT_TRUE(make(plan));
    EXPECT_EQ(log.count("record") == 0, known) << "known kernels are not measured";
    EXPECT_LT(first("library"), first("begin_capture"));
  }
}

} // namespace
} // namespace tg::test
