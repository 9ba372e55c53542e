// Tests emitted depthwise convolutions against sums in float64: partial vectors of channels,
// images of one pixel or narrower than the kernel, any stride, dilation and padding, batches,
// pixels and rows with gaps, windows entirely in the padding. Operands and results
// are between inaccessible pages.
#include "runtime/cpu/tile/depthwise.h"

#include "tests/unit/tile/convolution_cases.h"

#include <cfenv>
#include <cstring>

namespace tg::tile {
namespace {

class TileDepthwise : public EmittedConvolution {};
INSTANTIATE_TEST_SUITE_P(Sets, TileDepthwise, testing::ValuesIn(kConvolutionSets), set_name);

TEST_P(TileDepthwise, RandomConvolutions) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    RandomDraws r(seed);
    DepthwiseShape s;
    s.isa = GetParam();
    random_window(r, s);
    s.channels = r.coin() ? s.lanes() * r.in(1, 5) : r.in(1, 45);
    ConvolutionCase c = random_case(r);
    c.schedule = random_schedule<Depthwise>(r, s, c.tail, {2, 24, 1, s.result.rows, 6, 1});
    std::string wrong = check_convolution<Depthwise>(
        r, s, {s.channels, 1, 1}, c, [&](float* to, const float* w) { Depthwise::pack(to, w, s); },
        [](const ExpectedSum& want) { return 1e-5 * (1 + std::abs(want.sum)); });
    ASSERT_EQ(wrong, "") << "seed " << seed << ": " << s.images << " x " << s.channels << " x "
                         << s.image.rows << " x " << s.image.columns << " by " << s.kernel.rows
                         << " x " << s.kernel.columns;
  }
}

/// Returns the result for a dense image, by weights in the model's order.
std::vector<float> run_dense(const DepthwiseShape& s, const std::vector<float>& x,
                             const std::vector<float>& w, const ConvolutionTail& tail = {},
                             int threads = 1) {
  std::vector<float> packed(static_cast<size_t>(Depthwise::weight_elements(s)));
  Depthwise::pack(packed.data(), w.data(), s);
  return run_packed<Depthwise>(s, x, packed, tail, threads);
}

/// A dense image of zeros except for one pixel, convolved with a kernel of ones and a padding of 1.
std::vector<float> around(Isa isa, float special, int64_t channels, Clamp clamp) {
  DepthwiseShape s;
  s.isa = isa;
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

TEST_P(TileDepthwise, NanAndTinyNumbers) {
  for (float special : kSpecialNumbers)
    for (Clamp clamp : kClamps)
      for (int64_t channels : {8, 11, 16, 27})
        expect_around_middle(around(GetParam(), special, channels, clamp), channels, special,
                             clamp);
}

TEST_P(TileDepthwise, ReluOfNaNRaisesNoFlag) {
  std::feclearexcept(FE_ALL_EXCEPT);
  around(GetParam(), std::nanf(""), 11, Clamp::Relu);
  EXPECT_FALSE(std::fetestexcept(FE_INVALID));
}

/// A NaN or infinite weight affects only the results that use it.
TEST_P(TileDepthwise, PaddingIsLeftOut) {
  DepthwiseShape s;
  s.isa = GetParam();
  s.channels = 8;
  s.image = s.result = {4, 4};
  s.kernel = {3, 3};
  s.before = {1, 1};
  s.x = s.y = {4 * 4 * 8, 4 * 8, 8};
  std::vector<float> w(9 * 8, 1.0f);
  for (size_t k = 0; k < 8; ++k) w[9 * k] = INFINITY; // the taps above and to the left
  std::vector<float> y = run_dense(s, std::vector<float>(128, 1.0f), w);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isinf(y[8 * i]), i / 4 > 0 && i % 4 > 0) << i;
}

/// The bits do not depend on the number of threads, and are the same with AVX2.
TEST_P(TileDepthwise, PartsChangeNoBit) {
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
    s.isa = GetParam();
    for (int threads : {1, 2, 3, 5, 8}) {
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
