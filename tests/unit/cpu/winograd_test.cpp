// Tests the Winograd kernel of each instruction set of this processor against the definition
// of convolution in float64: odd sizes, padding, groups, partial vectors of channels,
// results with gaps between pixels, and all schedules. Each buffer ends with its contents,
// so that AddressSanitizer detects a vector access beyond a row.
#include "runtime/cpu/winograd/winograd.h"

#include "lang/core/semantics/winograd_transforms.h"
#include "tests/unit/random_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>

namespace tg::cpu {
namespace {

using Random = RandomDraws;

/// An image [images, height, width, channels] with gaps between pixels.
ImageSteps steps(int64_t height, int64_t width, int64_t pixel) {
  return {height * width * pixel, width * pixel, pixel};
}
int64_t elements(const ImageSteps& s, int64_t images, int64_t channels) {
  return images * s.image - s.pixel + channels; // no gap after the last pixel
}

struct Case {
  WinogradShape shape;
  std::vector<float> x, kernel, bias, residual; // kernel[output][input][3][3]
  Act act = Act::None;

  int64_t channels_in() const { return shape.groups * shape.inputs; }
  int64_t channels_out() const { return shape.groups * shape.outputs; }
};

Case random_case(Random& r, int64_t widest) {
  Case c;
  WinogradShape& s = c.shape;
  s.tile = r.coin() ? 2 : 4;
  s.images = r.in(1, 2);
  s.height = r.in(1, 15);
  s.width = r.in(1, 15);
  s.groups = r.coin() ? 1 : r.in(2, 3);
  s.inputs = r.in(1, widest);
  s.outputs = r.coin() ? 16 * r.in(1, 5) : r.in(1, widest);
  s.above = r.in(s.height < 3 ? 2 : 0, 2);
  s.left = r.in(s.width < 3 ? 2 : 0, 2);
  s.out_height = s.height + s.above + r.in(s.height < 3 ? 2 : 0, 2) - 2;
  s.out_width = s.width + s.left + r.in(s.width < 3 ? 2 : 0, 2) - 2;
  int64_t in = c.channels_in(), out = c.channels_out();
  s.x = steps(s.height, s.width, in + (r.coin() ? 0 : r.in(1, 9)));
  s.y = steps(s.out_height, s.out_width, out + (r.coin() ? 0 : r.in(1, 9)));
  s.residual = steps(s.out_height, s.out_width, out + (r.coin() ? 0 : r.in(1, 9)));
  c.x = r.floats(elements(s.x, s.images, in));
  c.kernel = r.floats(out * s.inputs * 9);
  if (r.coin()) c.bias = r.floats(out);
  if (r.coin()) c.residual = r.floats(elements(s.residual, s.images, out));
  c.act = static_cast<Act>(r.in(0, 5));
  return c;
}

/// winograd_weight: u[position][output][input].
std::vector<float> transformed(const Case& c) {
  const Winograd& f = winograd_of_results(c.shape.tile);
  int64_t kernels = c.channels_out() * c.shape.inputs;
  std::vector<float> u(static_cast<size_t>(f.products() * kernels));
  for (int64_t k = 0; k < kernels; ++k)
    for (int64_t i = 0; i < f.tile; ++i)
      for (int64_t j = 0; j < f.tile; ++j) {
        double sum = 0;
        for (int64_t a = 0; a < 3; ++a)
          for (int64_t b = 0; b < 3; ++b)
            sum += static_cast<double>(f.weights[i][a]) * f.weights[j][b] *
                   static_cast<double>(c.kernel[static_cast<size_t>(k * 9 + a * 3 + b)]);
        u[static_cast<size_t>((i * f.tile + j) * kernels + k)] =
            static_cast<float>(sum / f.denominator / f.denominator);
      }
  return u;
}

double activated(double v, Act act) {
  switch (act) {
  case Act::None: return v;
  case Act::Relu: return std::max(v, 0.0);
  case Act::Tanh: return std::tanh(v);
  case Act::Sigmoid: return 1 / (1 + std::exp(-v));
  case Act::Gelu: return v * (1 + std::erf(v / std::sqrt(2.0))) / 2;
  case Act::Relu6: return std::clamp(v, 0.0, 6.0);
  }
  return v;
}

/// Computes one result by the definition of convolution.
double expected(const Case& c, int64_t image, int64_t row, int64_t column, int64_t o) {
  const WinogradShape& s = c.shape;
  double sum = c.bias.empty() ? 0 : static_cast<double>(c.bias[static_cast<size_t>(o)]);
  if (!c.residual.empty())
    sum += static_cast<double>(c.residual[static_cast<size_t>(
        image * s.residual.image + row * s.residual.row + column * s.residual.pixel + o)]);
  for (int64_t i = 0; i < s.inputs; ++i)
    for (int64_t a = 0; a < 3; ++a)
      for (int64_t b = 0; b < 3; ++b) {
        int64_t y = row + a - s.above, x = column + b - s.left;
        if (y < 0 || x < 0 || y >= s.height || x >= s.width) continue;
        int64_t at = image * s.x.image + y * s.x.row + x * s.x.pixel + o / s.outputs * s.inputs + i;
        sum +=
            static_cast<double>(c.x[static_cast<size_t>(at)]) *
            static_cast<double>(c.kernel[static_cast<size_t>((o * s.inputs + i) * 9 + a * 3 + b)]);
      }
  return activated(sum, c.act);
}

constexpr float kUntouched = -77;

std::vector<float> run(const Case& c, const WinogradTable& table, int threads,
                       std::optional<WinogradCut> cut = {}) {
  std::shared_ptr<ThreadPool> pool = ThreadPool::shared();
  WinogradSchedule schedule(c.shape, pool->threads(threads),
                            cut.value_or(default_cut(c.shape, threads)));
  std::vector<float> packed(static_cast<size_t>(schedule.weight_elements()));
  schedule.pack(packed.data(), transformed(c).data());
  auto aligned = [](int64_t count) {
    auto bytes = static_cast<size_t>(count) * sizeof(float);
    return std::unique_ptr<float, decltype(&std::free)>(
        static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), &std::free);
  };
  auto scratch = aligned(schedule.scratch_elements());
  std::fill_n(scratch.get(), schedule.scratch_elements(), std::nanf("")); // detects stale reads
  int64_t count = elements(c.shape.y, c.shape.images, c.channels_out());
  std::vector<float> y(static_cast<size_t>(count), kUntouched);
  schedule.run(table,
               {c.x.data(), packed.data(), c.bias.empty() ? nullptr : c.bias.data(),
                c.residual.empty() ? nullptr : c.residual.data(), y.data(), scratch.get(), c.act});
  return y;
}

/// Returns the factor by which a tile's transforms enlarge a rounding error on the way to a row (or
/// column): A' over the lengths of the rows of G and B'. It is between 3 and 10 for tiles of 4.
double enlarged(int64_t tile, int64_t row) {
  const Winograd& f = winograd_of_results(tile);
  double sum = 0;
  for (int64_t i = 0; i < f.tile; ++i) {
    double weights = 0, inputs = 0;
    for (double weight : f.weights[i]) weights += weight * weight;
    for (double input : f.inputs[i]) inputs += input * input;
    double a = f.outputs[row][i];
    sum += a * a * weights * inputs;
  }
  return std::sqrt(sum) / f.denominator / f.inputs_denominator / f.outputs_denominator;
}

/// A bound for rounding of a sum in float: partial sums grow with the root of their number, so that
/// errors grow with the number itself. The bound is several standard deviations.
double tolerance(const WinogradShape& s, int64_t row, int64_t column, double value) {
  double summed = static_cast<double>(s.inputs + 12) * enlarged(s.tile, row % s.tile) *
                  enlarged(s.tile, column % s.tile);
  return 0x1p-24 * summed + 1e-6 * (1 + std::abs(value));
}

void expect_convolution(const Case& c, const WinogradTable& table, int threads) {
  const WinogradShape& s = c.shape;
  std::vector<float> y = run(c, table, threads);
  for (int64_t image = 0; image < s.images; ++image)
    for (int64_t row = 0; row < s.out_height; ++row)
      for (int64_t column = 0; column < s.out_width; ++column) {
        const float* pixel =
            &y[static_cast<size_t>(image * s.y.image + row * s.y.row + column * s.y.pixel)];
        for (int64_t o = 0; o < c.channels_out(); ++o) {
          double want = expected(c, image, row, column, o);
          ASSERT_NEAR(pixel[o], want, tolerance(s, row, column, want))
              << table.isa << " tile " << s.tile << " at " << image << ' ' << row << ' ' << column
              << ' ' << o << " of " << s.out_height << " x " << s.out_width << ", groups "
              << s.groups << " of " << s.inputs << " to " << s.outputs << ", " << threads
              << " threads";
        }
        bool last = &pixel[c.channels_out() - 1] == &y.back();
        if (!last && s.y.pixel > c.channels_out()) {
          ASSERT_EQ(pixel[c.channels_out()], kUntouched) << "a gap was written";
        }
      }
}

class WinogradKernels : public testing::TestWithParam<int> {
protected:
  const WinogradTable& table() const { return *winograd_tables().tables[GetParam()]; }
};

TEST_P(WinogradKernels, ConvolveAsTheDefinition) {
  Random r(3);
  for (int round = 0; round < 80; ++round) {
    Case c = random_case(r, round < 60 ? 40 : 16);
    expect_convolution(c, table(), static_cast<int>(r.in(1, 3)));
    if (HasFatalFailure()) return;
  }
}

TEST_P(WinogradKernels, NoBitDependsOnTheCut) {
  Random r(6);
  int cuts = 0;
  for (int round = 0; round < 60; ++round) {
    Case c = random_case(r, 70);
    auto threads = static_cast<int>(r.in(1, 3));
    WinogradCut cut;
    cut.by_channels = c.shape.groups == 1 && r.coin();
    cut.cuts = cut.by_channels ? 1 : r.in(1, c.shape.tiles());
    cut.panels = r.in(1, kMaxPanels);
    cut.rows = r.in(1, kMaxWinogradRows);
    cut.packed = r.coin() ? kAllChannels : kPanel * r.in(1, 4);
    cut.written = r.coin() ? kAllChannels : kPanel * r.in(1, 4);
    if (!suits(c.shape, threads, cut)) continue;
    ++cuts;
    EXPECT_TRUE(run(c, table(), threads, cut) == run(c, table(), 1));
  }
  EXPECT_GE(cuts, 30);
}

TEST(WinogradCuts, AreRejectedIfTheyDoNotSuit) {
  WinogradShape shape;
  shape.height = shape.width = shape.out_height = shape.out_width = 12;
  shape.inputs = shape.outputs = 64;
  EXPECT_TRUE(suits(shape, 2, {}));
  EXPECT_TRUE(suits(shape, 2, {.cuts = 9}));
  EXPECT_FALSE(suits(shape, 2, {.cuts = 10})) << "there are not so many tiles";
  EXPECT_FALSE(suits(shape, 2, {.panels = 5}));
  EXPECT_FALSE(suits(shape, 2, {.rows = 0}));
  EXPECT_FALSE(suits(shape, 2, {.packed = 24}));
  EXPECT_TRUE(suits(shape, 2, {.by_channels = true}));
  EXPECT_FALSE(suits(shape, 1, {.by_channels = true}));
  EXPECT_FALSE(suits(shape, 2, {.cuts = 2, .by_channels = true}));
  EXPECT_FALSE(suits(shape, 5, {.by_channels = true})) << "nor panels";
  shape.images = 1000;
  EXPECT_FALSE(suits(shape, 2, {})) << "V and M would be too large";
}

// A product has one function for each number of rows and panels.
TEST_P(WinogradKernels, EveryNumberOfTilesAndPanels) {
  Random r(4);
  for (int64_t tiles = 1; tiles <= 28; ++tiles)
    for (int64_t panels = 1; panels <= kMaxPanels; ++panels) {
      int64_t inputs = tiles <= 14 ? r.in(1, 9) : kPanel, width = panels * kPanel;
      std::vector<float> v = r.floats(tiles * inputs), u = r.floats(inputs * width);
      std::vector<float> m(static_cast<size_t>(tiles * width));
      table().product(m.data(), width, v.data(), inputs, u.data(), tiles, inputs, panels,
                      kMaxWinogradRows);
      for (int64_t t = 0; t < tiles; ++t)
        for (int64_t o = 0; o < width; ++o) {
          double sum = 0;
          for (int64_t i = 0; i < inputs; ++i)
            sum += static_cast<double>(v[static_cast<size_t>(t * inputs + i)]) *
                   static_cast<double>(u[static_cast<size_t>(i * width + o)]);
          ASSERT_NEAR(m[static_cast<size_t>(t * width + o)], sum, 1e-5) << tiles << ' ' << panels;
        }
    }
}

// Few tiles and many weights: threads share the transformed image and split the output channels.
TEST_P(WinogradKernels, ThreadsPartChannelsWhereTilesAreFew) {
  Random r(5);
  Case c;
  c.shape = {.tile = 4,
             .images = 1,
             .height = 5,
             .width = 6,
             .out_height = 5,
             .out_width = 6,
             .groups = 1,
             .inputs = 180,
             .outputs = 180,
             .above = 1,
             .left = 1,
             .x = steps(5, 6, 180),
             .y = steps(5, 6, 180),
             .residual = steps(5, 6, 180)};
  c.x = r.floats(5 * 6 * 180);
  c.kernel = r.floats(180 * 180 * 9);
  c.residual = r.floats(5 * 6 * 180);
  for (int threads : {1, 2, 3}) expect_convolution(c, table(), threads);
}

TEST_P(WinogradKernels, NanStaysThroughRelu) {
  Case c;
  c.shape = {.height = 4,
             .width = 4,
             .out_height = 2,
             .out_width = 2,
             .inputs = 3,
             .outputs = 17,
             .x = steps(4, 4, 3),
             .y = steps(2, 2, 17),
             .residual = {}};
  c.x.assign(4 * 4 * 3, std::nanf(""));
  c.kernel.assign(17 * 3 * 9, 1.0f);
  c.act = Act::Relu;
  for (float value : run(c, table(), 1)) EXPECT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(All, WinogradKernels, testing::Range(0, winograd_tables().count),
                         [](const testing::TestParamInfo<int>& info) {
                           return std::string(winograd_tables().tables[info.param]->isa);
                         });

} // namespace
} // namespace tg::cpu
