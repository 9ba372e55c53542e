// Tests the passes of a resize, for each instruction set of this processor,
// against sums in float64: channels first and last, rows shorter than a vector, threads,
// infinities with weights of 0, memory beyond the ends. Also tests the layouts and dtypes
// of these passes in plans.
#include "runtime/cpu/resize/resize.h"

#include "tests/unit/cpu/compare.h"
#include "tests/unit/random_draws.h"
#include "tests/unit/tile/guarded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg::cpu {
namespace {

ResampledAxis random_axis(RandomDraws& r, int64_t in, int64_t most) {
  ResampledAxis axis;
  axis.in = in;
  axis.out = r.in(0, 4) == 0 ? in : r.in(1, most);
  axis.scale = static_cast<double>(axis.out) / static_cast<double>(in);
  return axis;
}

Resampling random_resampling(RandomDraws& r) {
  Resampling how;
  how.mode = static_cast<ResizeMode>(r.in(0, 2));
  how.coordinates = static_cast<ResizeCoordinates>(r.in(0, 4));
  how.rounding = static_cast<ResizeRounding>(r.in(0, 3));
  how.antialias = how.mode != ResizeMode::Nearest && r.coin();
  how.exclude_outside = r.coin();
  return how;
}

std::vector<double> by_definition(const ResizeShape& s, const AxisTaps& rows,
                                  const AxisTaps& columns, const std::vector<float>& x) {
  std::vector<double> y;
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < rows.results(); ++i)
      for (int64_t j = 0; j < columns.results(); ++j)
        for (int64_t c = 0; c < s.inner; ++c) {
          double sum = 0;
          for (int64_t k = rows.first[i]; k < rows.first[i + 1]; ++k)
            for (int64_t m = columns.first[j]; m < columns.first[j + 1]; ++m)
              sum +=
                  rows.weights[k] * columns.weights[m] *
                  static_cast<double>(
                      x[((o * s.height + rows.places[k]) * s.width + columns.places[m]) * s.inner +
                        c]);
          y.push_back(sum);
        }
  return y;
}

std::vector<float> run(const ResizePass& pass, int threads, const std::vector<float>& x) {
  std::vector<float> y(static_cast<size_t>(pass.results()), -77);
  std::vector<std::byte> scratch(static_cast<size_t>(pass.scratch_bytes(threads)));
  std::shared_ptr<ThreadPool> pool = ThreadPool::shared();
  pass.run(pool->threads(threads), x.data(), y.data(), scratch.data());
  return y;
}

class ResizePasses : public testing::TestWithParam<int> {
protected:
  const ResizeTable& table() const { return *resize_tables().tables[GetParam()]; }
};

TEST_P(ResizePasses, AreWeightedSums) {
  RandomDraws r(51);
  for (int round = 0; round < 200; ++round) {
    Resampling how = random_resampling(r);
    ResizeShape s{r.in(1, 3), r.in(1, 40), r.in(1, 80), r.coin() ? 1 : r.in(1, 20)};
    AxisTaps rows = axis_taps(how, random_axis(r, s.height, 70));
    AxisTaps columns = axis_taps(how, random_axis(r, s.width, 90));
    std::vector<float> x = r.floats(s.outer * s.height * s.width * s.inner);
    std::vector<double> want = by_definition(s, rows, columns, x);
    std::vector<float> got = run(ResizePass(table(), s, rows, columns), round % 10 == 0 ? 2 : 1, x);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), want[i], 2e-5)
          << "mode " << static_cast<int>(how.mode) << (how.antialias ? ", antialias" : "") << ", "
          << s.height << " x " << s.width << " x " << s.inner << " to " << rows.results() << " x "
          << columns.results();
  }
}

TEST_P(ResizePasses, ReadNothingUnderAWeightOfZero) {
  RandomDraws r(52);
  auto inf = std::numeric_limits<float>::infinity();
  for (int round = 0; round < 300; ++round) {
    Resampling how = random_resampling(r);
    ResizeShape s{1, r.in(1, 20), r.in(1, 120), r.of<int64_t>({1, 1, 3, 9})};
    AxisTaps rows = axis_taps(how, random_axis(r, s.height, 40));
    AxisTaps columns = axis_taps(how, random_axis(r, s.width, 120));
    std::vector<float> x = r.floats(s.height * s.width * s.inner);
    x[static_cast<size_t>(r.in(0, static_cast<int64_t>(x.size()) - 1))] = inf;
    std::vector<double> want = by_definition(s, rows, columns, x);
    std::vector<float> got = run(ResizePass(table(), s, rows, columns), 1, x);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::isfinite(got[i]), std::isfinite(want[i])) << i << " of " << got.size();
  }
}

/// Images that are repeated, of all widths around a vector's, in memory that ends with them.
/// One call writes many rows.
TEST_P(ResizePasses, SelectExactlyAndStayInside) {
  RandomDraws r(53);
  for (int64_t width = 1; width <= 40; ++width)
    for (double scale : {0.4, 1.0, 1.5, 2.0, 3.0, 20.0}) {
      ResizeShape s{r.in(1, 3), r.in(1, 5), width, 1};
      auto grown = [&](int64_t in) {
        ResampledAxis axis;
        axis.in = in;
        axis.out = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(in) * scale), 1);
        axis.scale = scale;
        return axis_taps({}, axis);
      };
      ResizePass pass(table(), s, grown(s.height), grown(s.width));
      std::vector<float> from = r.floats(pass.operands());
      tile::Guarded x(pass.operands(), true), y(pass.results(), true);
      std::copy(from.begin(), from.end(), x.begin());
      int threads = width % 4 == 0 ? 2 : 1;
      std::vector<std::byte> scratch(static_cast<size_t>(pass.scratch_bytes(threads)));
      pass.run(ThreadPool::shared()->threads(threads), x.data, y.data, scratch.data());
      std::vector<double> want = by_definition(s, grown(s.height), grown(s.width), from);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(static_cast<double>(y.data[i]), want[i])
            << i << " of " << s.height << " x " << width << " times " << scale;
    }
}

INSTANTIATE_TEST_SUITE_P(All, ResizePasses, testing::Range(0, resize_tables().count),
                         [](const testing::TestParamInfo<int>& info) {
                           return std::string(resize_tables().tables[info.param]->isa);
                         });

/// Between two poolings with channels-last images, no reorder is needed.
TEST(Resize, KeepsTheLayoutOfItsOperand) {
  test::Builder b;
  std::vector<Value> window = {test::pair(2, 2), test::pair(1, 1), test::act("valid")};
  NodeId x = b.op(OpKind::MaxPool2d, {b.input("x", {2, 16, 9, 9})}, window);
  NodeId y = b.op(OpKind::Resize, {x}, {Value::of_ints({16, 16}), Value::of_string("linear")});
  b.output(b.op(OpKind::MaxPool2d, {y}, window));
  test::Comparison c = test::compare(b.graph, 2, IoLayout::Native);
  EXPECT_LE(c.difference, 1e-5);
  EXPECT_EQ(c.steps.size(), 3u) << test::implementations(c);
  EXPECT_EQ(c.steps[1].implementation.rfind("resize:", 0), 0u) << test::implementations(c);
}

} // namespace
} // namespace tg::cpu
