// Tests norms in one kernel, for each instruction set of this processor and each schedule, against
// sums in float64. Also tests plans in which a square, its sum and the root are merged
// into one step.
#include "runtime/cpu/norm/norms.h"

#include "runtime/cpu/tile_schedules.h"
#include "tests/unit/cpu/compare.h"
#include "tests/unit/random_draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tg::cpu {
namespace {

std::vector<NormSchedule> schedules(const NormShape& shape) {
  std::vector<NormSchedule> all;
  for (int64_t rows : {1, 2, 4, 8})
    for (int64_t vectors : {1, 2, 4, 8})
      for (int64_t pieces : {1, 2, 4, 8, 64})
        if (NormSchedule s{rows, vectors, pieces}; suits(shape, s)) all.push_back(s);
  return all;
}

std::vector<float> norms(const NormTable& table, const NormShape& shape, const NormSchedule& s,
                         int threads, const std::vector<float>& x) {
  std::vector<float> y(static_cast<size_t>(2 * shape.rows), -1);
  std::vector<double> scratch(static_cast<size_t>(norm_scratch_doubles(shape, s)));
  std::shared_ptr<ThreadPool> pool = ThreadPool::shared();
  run_norms(table, shape, s, pool->threads(threads), x.data(), y.data(), 2, scratch.data());
  return y;
}

class Norms : public testing::TestWithParam<int> {
protected:
  const NormTable& table() const { return *norm_tables().tables[GetParam()]; }
};

TEST_P(Norms, AreRootsOfSumsByEverySchedule) {
  RandomDraws r(11);
  for (int round = 0; round < 30; ++round) {
    NormShape shape;
    shape.rows = round % 3 == 0 ? r.in(1, 20) : r.in(1, 4);
    shape.length = round % 5 == 4 ? r.in(20000, 90000) : r.in(1, 700);
    shape.row_step = shape.length + (r.coin() ? 0 : r.in(1, 5));
    shape.root = r.coin();
    // The buffer ends with the last row, so that AddressSanitizer detects a read beyond it.
    std::vector<float> x = r.floats((shape.rows - 1) * shape.row_step + shape.length);
    for (const NormSchedule& s : schedules(shape)) {
      std::vector<float> y = norms(table(), shape, s, static_cast<int>(r.in(1, 3)), x);
      for (int64_t row = 0; row < shape.rows; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < shape.length; ++i) {
          auto one = static_cast<double>(x[static_cast<size_t>(row * shape.row_step + i)]);
          sum += one * one;
        }
        double want = shape.root ? std::sqrt(sum) : sum;
        ASSERT_NEAR(y[static_cast<size_t>(2 * row)], want, 1e-5 * want)
            << shape.rows << " of " << shape.length << ": " << s.rows << ' ' << s.vectors << ' '
            << s.pieces;
        ASSERT_EQ(y[static_cast<size_t>(2 * row + 1)], -1) << "a gap was written";
      }
    }
  }
}

TEST_P(Norms, AreTheSameOnAnyNumberOfThreads) {
  RandomDraws r(12);
  NormShape shape{3, 150'000, 150'000, true};
  std::vector<float> x = r.floats(3 * shape.length);
  for (const NormSchedule& s : schedules(shape)) {
    std::vector<float> alone = norms(table(), shape, s, 1, x);
    for (int threads : {2, 3}) EXPECT_EQ(norms(table(), shape, s, threads, x), alone);
  }
}

TEST_P(Norms, NanAndInfinityShow) {
  for (float odd : {std::nanf(""), HUGE_VALF}) {
    std::vector<float> x(1000, 1.0f);
    x[998] = odd;
    float y = norms(table(), {1, 1000, 1000, true}, {}, 1, x)[0];
    EXPECT_TRUE(std::isnan(odd) ? std::isnan(y) : y == odd);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Norms, testing::Range(0, norm_tables().count),
                         [](const testing::TestParamInfo<int>& info) {
                           return std::string(norm_tables().tables[info.param]->isa);
                         });

TEST(NormSchedules, AreRejectedIfTheyDoNotSuit) {
  NormShape one{1, 100'000, 100'000}, many{9, 100'000, 100'000};
  EXPECT_TRUE(suits(many, {8, 1, 1}));
  EXPECT_FALSE(suits(one, {2, 1, 1})) << "there are not so many rows";
  EXPECT_FALSE(suits(many, {8, 2, 1})) << "nor registers";
  EXPECT_FALSE(suits(many, {2, 1, 2})) << "rows side by side have one piece";
  EXPECT_FALSE(suits(one, {1, 3, 1}));
  EXPECT_TRUE(suits(one, {1, 8, 16}));
  EXPECT_FALSE(suits(one, {1, 8, 64})) << "too small a piece";
  EXPECT_TRUE(suits(one, default_norm_schedule(one)));
}

/// Runs the graph. Has the steps' implementations, and compares the results with the reference
/// backend.
struct NormRun {
  std::vector<std::string> kernels;
  std::vector<Tensor> y;
  explicit NormRun(const test::Builder& b, int threads = 2) {
    test::Comparison info;
    CompileOptions options;
    options.threads = threads;
    options.share_short_work = true;
    Plan plan = plan_from_graph(b.graph);
    y = test::outputs_of(*make_cpu_backend(), plan, options, 1, &info);
    for (const StepInfo& step : info.steps) kernels.push_back(step.implementation);
    std::vector<Tensor> want = test::outputs_of(*make_ref_backend(), plan, options, 1);
    for (size_t i = 0; i < y.size(); ++i)
      for (size_t k = 0; k < y[i].floats().size(); ++k)
        EXPECT_NEAR(y[i].floats()[k], want[i].floats()[k], 1e-5 * std::abs(want[i].floats()[k]))
            << i << ' ' << k;
  }
  int64_t fused() const {
    return llvm::count_if(kernels, [](llvm::StringRef k) { return k.startswith("norm:"); });
  }
};

NodeId sum_of(test::Builder& b, NodeId x, llvm::ArrayRef<int64_t> axes, bool keep = false) {
  return b.op(OpKind::ReduceSum, {x}, {Value::of_ints(axes), Value::of_bool(keep)});
}

TEST(NormPlans, ThreeStepsAreOne) {
  for (int64_t batch : {1, 16}) {
    test::Builder b;
    NodeId x = b.input("x", {batch, 120, 130});
    b.output(b.op(OpKind::Sqrt, {sum_of(b, b.op(OpKind::Mul, {x, x}), {1, 2})}));
    NodeId image = b.input("image", {batch, 5, 9, 11});
    b.output(sum_of(b, b.op(OpKind::Mul, {image, image}), {1, 2, 3}, true));
    NodeId matrix = b.input("matrix", {7, 33 * batch});
    NodeId twice = b.op(OpKind::Add, {matrix, matrix}); // in a buffer that other steps may reuse
    NodeId norm = b.op(OpKind::Sqrt, {sum_of(b, b.op(OpKind::Mul, {twice, twice}), {1}, true)});
    b.output(b.op(OpKind::Div, {b.op(OpKind::Neg, {twice}), norm}));
    EXPECT_EQ(NormRun(b).fused(), 3);
  }
}

TEST(NormPlans, SumsOfOtherThingsAreNot) {
  test::Builder b;
  NodeId x = b.input("x", {6, 40, 50}), other = b.input("other", {6, 40, 50});
  NodeId square = b.op(OpKind::Mul, {x, x});
  b.output(square); // an output reads it
  b.output(sum_of(b, square, {1, 2}));
  b.output(sum_of(b, b.op(OpKind::Mul, {x, other}), {1, 2}));
  b.output(sum_of(b, b.op(OpKind::Mul, {other, other}), {0})); // rows with gaps
  b.output(sum_of(b, b.op(OpKind::Mul, {other, other}), {0, 2}));
  EXPECT_EQ(NormRun(b).fused(), 0);
}

TEST(NormPlans, TheLibrarysWayHasThreeSteps) {
  test::Builder b;
  NodeId x = b.input("x", {4, 40, 50});
  b.output(b.op(OpKind::Sqrt, {sum_of(b, b.op(OpKind::Mul, {x, x}), {1, 2})}));
  test::Comparison info;
  (void)test::outputs_of(*make_cpu_backend(Products::Library), plan_from_graph(b.graph), {}, 1,
                         &info);
  EXPECT_EQ(info.steps.size(), 3u);
}

} // namespace
} // namespace tg::cpu
