// Depthwise convolutions by emitted code against sums in float64: channels that fill no vector,
// images of a pixel or narrower than the kernel, any stride, dilation and padding, batches, pixels
// and rows with gaps, windows that lie in the padding altogether. Operands and results lie between
// pages that nobody may touch.
#include "runtime/tile/depthwise.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tile/guarded.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

namespace tg::tile {
namespace {

constexpr float kNotWritten = -77;

struct DepthwiseCase {
  DepthwiseShape shape;
  ConvolutionTail tail;
  bool in_place = false, at_end = false;
  int threads = 1;
};

int64_t results(int64_t image, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding) {
  int64_t room = image + padding - (kernel - 1) * dilation - 1;
  return room < 0 ? 0 : room / stride + 1;
}

/// Pixels side by side or not; elements of the whole.
int64_t lay(RandomDraws& r, const DepthwiseShape& s, const Plane& plane, PixelSteps& steps) {
  steps.pixel = s.channels + (r.coin() ? 0 : r.in(1, 9));
  steps.row = plane.columns * steps.pixel + (r.coin() ? 0 : r.in(1, 20));
  steps.image = plane.rows * steps.row;
  return (s.images - 1) * steps.image + (plane.rows - 1) * steps.row +
         (plane.columns - 1) * steps.pixel + s.channels;
}

void random_window(RandomDraws& r, DepthwiseShape& s) {
  bool usual = r.coin(); // 3 x 3, stride 1 or 2
  auto size = [&] { return usual ? 3 : r.in(0, 5) == 0 ? r.in(8, 11) : r.in(1, 7); };
  s.kernel = {size(), size()};
  s.stride = usual && r.coin() ? Plane{} : Plane{r.in(1, 3), r.in(1, 3)};
  if (!usual) s.dilation = {r.in(1, 3), r.in(1, 3)};
  Plane padding = {r.in(0, 4), r.in(0, 4)};
  s.before = {r.in(0, padding.rows), r.in(0, padding.columns)};
  s.image = {r.in(1, 20), r.in(1, r.coin() ? 20 : 60)};
  s.result = {results(s.image.rows, s.kernel.rows, s.stride.rows, s.dilation.rows, padding.rows),
              results(s.image.columns, s.kernel.columns, s.stride.columns, s.dilation.columns,
                      padding.columns)};
}

DepthwiseCase random_depthwise(RandomDraws& r) {
  DepthwiseCase c;
  DepthwiseShape& s = c.shape;
  do random_window(r, s);
  while (s.result.rows == 0 || s.result.columns == 0);
  s.images = r.coin() ? 1 : r.in(2, 3);
  s.channels = r.coin() ? 8 * r.in(1, 5) : r.in(1, 45);
  c.tail.bias = r.coin();
  c.in_place = r.in(0, 3) == 0;
  c.tail.residual = c.in_place || r.coin();
  c.tail.clamp = r.of({Clamp::None, Clamp::Relu, Clamp::Relu6});
  c.tail.finish = r.in(0, 3) == 0;
  c.at_end = r.coin();
  c.threads = static_cast<int>(r.in(1, 5));
  return c;
}

/// A result in float64: the sum of what lies inside the image.
double expected_pixel(const DepthwiseCase& c, const float* x, const float* w, const float* bias,
                      const float* residual, int64_t image, int64_t row, int64_t column,
                      int64_t channel) {
  const DepthwiseShape& s = c.shape;
  double sum = c.tail.bias ? static_cast<double>(bias[channel]) : 0;
  if (c.tail.residual)
    sum += static_cast<double>(residual[image * s.residual.image + row * s.residual.row +
                                        column * s.residual.pixel + channel]);
  for (int64_t i = 0; i < s.kernel.rows; ++i)
    for (int64_t j = 0; j < s.kernel.columns; ++j) {
      int64_t y = row * s.stride.rows - s.before.rows + i * s.dilation.rows;
      int64_t z = column * s.stride.columns - s.before.columns + j * s.dilation.columns;
      if (y < 0 || z < 0 || y >= s.image.rows || z >= s.image.columns) continue;
      sum += static_cast<double>(x[image * s.x.image + y * s.x.row + z * s.x.pixel + channel]) *
             static_cast<double>(w[(channel * s.kernel.rows + i) * s.kernel.columns + j]);
    }
  if (c.tail.clamp != Clamp::None) sum = std::max(sum, 0.0);
  return c.tail.clamp == Clamp::Relu6 ? std::min(sum, 6.0) : sum;
}

/// Whether each result is as expected, and nothing else was written: "" or what was wrong.
std::string compare_image(const DepthwiseCase& c, const float* x, const float* w, const float* bias,
                          const float* residual, Guarded& y) {
  const DepthwiseShape& s = c.shape;
  std::vector<char> is_result(static_cast<size_t>(y.end() - y.begin()));
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t i = 0; i < s.result.rows; ++i)
      for (int64_t j = 0; j < s.result.columns; ++j)
        for (int64_t k = 0; k < s.channels; ++k) {
          int64_t at = n * s.y.image + i * s.y.row + j * s.y.pixel + k;
          is_result[static_cast<size_t>(at)] = 1;
          double want = expected_pixel(c, x, w, bias, residual, n, i, j, k);
          if (!(std::abs(y.data[at] - want) <= 1e-5 * (1 + std::abs(want))))
            return "image " + std::to_string(n) + ", row " + std::to_string(i) + ", column " +
                   std::to_string(j) + ", channel " + std::to_string(k) + " is " +
                   std::to_string(y.data[at]) + ", not " + std::to_string(want);
        }
  for (size_t at = 0; at < is_result.size(); ++at)
    if (!is_result[at] && y.data[at] != kNotWritten) return "wrote between pixels";
  return "";
}

std::string check_depthwise(RandomDraws& r, DepthwiseCase& c) {
  DepthwiseShape& s = c.shape;
  Guarded x(lay(r, s, s.image, s.x), c.at_end), y(lay(r, s, s.result, s.y), c.at_end);
  Guarded other(lay(r, s, s.result, s.residual), c.at_end);
  if (c.in_place) s.residual = s.y;
  int64_t taps = s.kernel.rows * s.kernel.columns;
  Guarded w(s.channels * taps, c.at_end), bias(s.channels, c.at_end);
  Guarded packed(Depthwise::weight_elements(s), c.at_end);
  for (Guarded* g : {&x, &w, &bias, &other})
    for (float& v : *g) v = 3 * r.number();
  Depthwise::pack(packed.data, w.data, s.channels, taps);
  std::fill(y.begin(), y.end(), kNotWritten);
  if (c.in_place)
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t i = 0; i < s.result.rows; ++i)
        for (int64_t j = 0; j < s.result.columns; ++j)
          for (int64_t k = 0; k < s.channels; ++k)
            y.data[n * s.y.image + i * s.y.row + j * s.y.pixel + k] = r.number();
  std::vector<float> before(y.begin(), y.end());
  auto made = Depthwise::make(s, c.tail, c.threads, {4 << 10, 32 << 10});
  if (!made) return made.error().message;
  ConvolutionData data;
  data.x = x.data;
  data.weights = packed.data;
  data.bias = bias.data;
  data.residual = c.in_place ? y.data : other.data;
  data.y = y.data;
  int64_t finished = 0;
  auto count = [&](const FinishedBlock& block) { finished += block.rows * block.columns; };
  if (c.tail.finish) data.finish = count;
  if ((*made)->parts() > c.threads) return "more parts than threads";
  for (int part = (*made)->parts(); part-- > 0;) (*made)->run(part, data);
  if (c.tail.finish && finished != s.images * s.result.rows * s.result.columns * s.channels)
    return "finished " + std::to_string(finished);
  return compare_image(c, x.data, w.data, bias.data, c.in_place ? before.data() : other.data, y);
}

/// The code is emitted for AVX2 and nothing else, so other processors cannot run it: there plans
/// never ask for it (may_be_ours), which tests/property/backends/tile_convolutions_test.cpp holds.
class TileDepthwise : public testing::Test {
protected:
  void SetUp() override {
    if (!processor_has(Isa::Avx2)) GTEST_SKIP() << "depthwise code is for AVX2, which is not here";
  }
};

TEST_F(TileDepthwise, RandomConvolutions) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    RandomDraws r(seed);
    DepthwiseCase c = random_depthwise(r);
    std::string wrong = check_depthwise(r, c);
    const DepthwiseShape& s = c.shape;
    ASSERT_EQ(wrong, "") << "seed " << seed << ": " << s.images << " x " << s.channels << " x "
                         << s.image.rows << " x " << s.image.columns << " by " << s.kernel.rows
                         << " x " << s.kernel.columns;
  }
}

/// A result of an image, by weights as a model has them.
std::vector<float> run_dense(const DepthwiseShape& s, const std::vector<float>& x,
                             const std::vector<float>& w, const ConvolutionTail& tail = {},
                             int threads = 1) {
  std::vector<float> packed(static_cast<size_t>(Depthwise::weight_elements(s))), y(x.size());
  Depthwise::pack(packed.data(), w.data(), s.channels, s.kernel.rows * s.kernel.columns);
  auto made = Depthwise::make(s, tail, threads, caches());
  EXPECT_TRUE(made.ok());
  ConvolutionData data;
  data.x = x.data();
  data.weights = packed.data();
  data.y = y.data();
  for (int part = 0; part < (*made)->parts(); ++part) (*made)->run(part, data);
  return y;
}

/// A dense image of zeros but for one pixel, by a kernel of ones; padding of 1.
std::vector<float> around(float special, int64_t channels, Clamp clamp) {
  DepthwiseShape s;
  s.channels = channels;
  s.image = s.result = {5, 9};
  s.kernel = {3, 3};
  s.before = {1, 1};
  s.x = s.y = {45 * channels, 9 * channels, channels};
  std::vector<float> x(static_cast<size_t>(45 * channels), 0.0f);
  for (int64_t k = 0; k < channels; ++k)
    x[static_cast<size_t>((2 * 9 + 4) * channels + k)] = special;
  ConvolutionTail tail;
  tail.clamp = clamp;
  return run_dense(s, x, std::vector<float>(static_cast<size_t>(9 * channels), 1.0f), tail);
}

TEST_F(TileDepthwise, NumbersThatAreNoneAndTinyOnes) {
  for (float special : {std::nanf(""), INFINITY, -INFINITY, 1e-42f, -1e-42f, 1e-45f, 9.0f})
    for (Clamp clamp : {Clamp::None, Clamp::Relu, Clamp::Relu6})
      for (int64_t channels : {8, 11}) {
        std::vector<float> y = around(special, channels, clamp);
        float want = clamp != Clamp::None && special < 0 ? 0 : special;
        if (clamp == Clamp::Relu6 && special > 6) want = 6;
        for (int64_t i = 0; i < 45; ++i)
          for (int64_t k = 0; k < channels; ++k) {
            float got = y[static_cast<size_t>(i * channels + k)];
            bool near = std::abs(i / 9 - 2) <= 1 && std::abs(i % 9 - 4) <= 1;
            if (near && std::isnan(want))
              EXPECT_TRUE(std::isnan(got));
            else
              EXPECT_EQ(got, near ? want : 0.0f);
          }
      }
}

TEST_F(TileDepthwise, ReluOfNaNRaisesNoFlag) {
  std::feclearexcept(FE_ALL_EXCEPT);
  around(std::nanf(""), 11, Clamp::Relu);
  EXPECT_FALSE(std::fetestexcept(FE_INVALID));
}

/// So a weight that is no number spoils those results alone that it meets.
TEST_F(TileDepthwise, PaddingIsLeftOut) {
  DepthwiseShape s;
  s.channels = 8;
  s.image = s.result = {4, 4};
  s.kernel = {3, 3};
  s.before = {1, 1};
  s.x = s.y = {4 * 4 * 8, 4 * 8, 8};
  std::vector<float> w(9 * 8, 1.0f);
  for (size_t k = 0; k < 8; ++k) w[9 * k] = INFINITY; // above and to the left
  std::vector<float> y = run_dense(s, std::vector<float>(128, 1.0f), w);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isinf(y[8 * i]), i / 4 > 0 && i % 4 > 0) << i;
}

/// The same bits, however many threads part the work.
TEST_F(TileDepthwise, PartsChangeNoBit) {
  for (int64_t kernel : {3, 5}) {
    DepthwiseShape s;
    s.channels = 75;
    s.image = s.result = {29, 23};
    s.kernel = {kernel, kernel};
    s.before = {kernel / 2, kernel / 2};
    s.x = s.y = {29 * 23 * 75, 23 * 75, 75};
    RandomDraws r(3);
    std::vector<float> x = r.floats(s.x.image), w = r.floats(75 * kernel * kernel);
    std::vector<float> first = run_dense(s, x, w);
    for (int threads : {2, 3, 5, 8}) {
      std::vector<float> y = run_dense(s, x, w, {}, threads);
      EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0) << threads;
    }
  }
}

TEST(TileDepthwiseShape, TooLargeKernelsAreRefused) {
  DepthwiseShape s;
  s.channels = 8;
  s.image = {1000, 1000};
  s.result = {1, 1};
  s.kernel = {1000, 100000};
  s.x = s.y = {8000000, 8000, 8};
  EXPECT_FALSE(Depthwise::suits(s));
  EXPECT_FALSE(Depthwise::make(s, {}, 1, caches()).ok());
}

} // namespace
} // namespace tg::tile
