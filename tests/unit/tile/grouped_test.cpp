// Tests emitted grouped convolutions against sums in float64: groups that share a vector,
// fill several or are cut into sets, partial vectors of channels, images of one pixel
// or narrower than the kernel, any stride, dilation and padding, batches,
// pixels and rows with gaps, windows entirely in the padding. Operands and results
// are between inaccessible pages.
#include "runtime/cpu/tile/grouped.h"

#include "tests/unit/tile/convolution_cases.h"

#include <cfenv>
#include <cstring>

namespace tg::tile {
namespace {

class TileGrouped : public EmittedConvolution {};
INSTANTIATE_TEST_SUITE_P(Sets, TileGrouped, testing::ValuesIn(kConvolutionSets), set_name);

/// Draws group sizes as networks have them, small ones, or ones large enough for several sets.
void random_channels(RandomDraws& r, GroupedShape& s) {
  switch (r.in(0, 3)) {
  case 0:
    s.inputs = s.outputs = r.of({4, 4, 8, 16, 32});
    s.groups = r.in(1, 5);
    break;
  case 1:
    s.inputs = r.in(1, 8);
    s.outputs = r.in(1, 8);
    s.groups = r.in(1, 11);
    break;
  case 2:
    s.inputs = r.in(1, 40);
    s.outputs = r.in(1, 50);
    s.groups = r.in(1, 3);
    break;
  default:
    s.inputs = r.in(1, 9);
    s.outputs = r.in(49, 150);
    s.groups = r.in(1, 2);
  }
}

/// Checks a random case with random numbers, tails and schedules.
void expect_right(uint64_t seed, RandomDraws& r, GroupedShape s) {
  ConvolutionCase c = random_case(r);
  int64_t most_columns = s.isa == Isa::Avx2 ? 13 : 29;
  c.schedule = random_schedule<Grouped>(r, s, c.tail, {1, most_columns, 6, s.result.rows, 9, 9});
  std::string wrong = check_convolution<Grouped>(
      r, s, {s.groups, s.inputs, s.outputs}, c,
      [&](float* to, const float* w) {
        Grouped::pack(to, w, s, c.schedule ? Grouped::tile(s, *c.schedule) : Grouped::tile(s));
      },
      [](const ExpectedSum& want) { return 1e-6 * (1 + want.size); });
  ASSERT_EQ(wrong, "") << "seed " << seed << ": " << s.images << " x " << s.groups << " x "
                       << s.inputs << " to " << s.outputs << ", " << s.image.rows << " x "
                       << s.image.columns << " by " << s.kernel.rows << " x " << s.kernel.columns;
}

TEST_P(TileGrouped, RandomConvolutions) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    RandomDraws r(seed);
    GroupedShape s;
    s.isa = GetParam();
    random_window(r, s);
    random_channels(r, s);
    expect_right(seed, r, s);
    if (HasFatalFailure()) return;
  }
}

/// Kernels of one tap without groups: sets with empty vectors at the end,
/// inputs that are not a multiple of an iteration, strides, padding around images of any size.
TEST_P(TileGrouped, ProductsOfPixelsByAMatrix) {
  for (uint64_t seed = 0; seed < 800; ++seed) {
    RandomDraws r(seed);
    GroupedShape s;
    s.isa = GetParam();
    random_window(r, s);
    int64_t stride_rows = r.in(1, 3), stride_columns = r.in(1, 3);
    s.kernel = s.dilation = {1, 1};
    if (r.coin()) stride_rows = stride_columns = 1;
    s.stride = {stride_rows, stride_columns};
    s.before = r.coin() ? Plane{0, 0} : Plane{r.in(0, 2), r.in(0, 2)};
    auto results = [](int64_t image, int64_t before, int64_t stride) {
      return (image + 2 * before - 1) / stride + 1;
    };
    s.result = {results(s.image.rows, s.before.rows, s.stride.rows),
                results(s.image.columns, s.before.columns, s.stride.columns)};
    s.inputs = r.coin() ? r.in(1, 9) : r.in(10, 200);
    s.outputs = r.coin() ? r.in(1, 30) : r.in(31, 150);
    expect_right(seed, r, s);
    if (HasFatalFailure()) return;
  }
}

/// A dense image with a padding of 1 and a 3 x 3 kernel.
GroupedShape dense(Isa isa, int64_t rows, int64_t columns, int64_t groups, int64_t inputs,
                   int64_t outputs) {
  GroupedShape s;
  s.isa = isa;
  s.groups = groups;
  s.inputs = inputs;
  s.outputs = outputs;
  s.image = s.result = {rows, columns};
  s.kernel = {3, 3};
  s.before = {1, 1};
  int64_t from = groups * inputs, to = groups * outputs;
  s.x = {rows * columns * from, columns * from, from};
  s.y = {rows * columns * to, columns * to, to};
  return s;
}

std::vector<float> run_dense(const GroupedShape& s, const std::vector<float>& x,
                             const std::vector<float>& w, const ConvolutionTail& tail = {},
                             int threads = 1) {
  std::vector<float> packed(static_cast<size_t>(Grouped::weight_elements(s)));
  Grouped::pack(packed.data(), w.data(), s);
  return run_packed<Grouped>(s, x, packed, tail, threads);
}

/// An image of zeros except for one pixel, convolved with a kernel of ones.
std::vector<float> around(Isa isa, float special, int64_t groups, int64_t channels, Clamp clamp) {
  GroupedShape s = dense(isa, 5, 9, groups, channels, channels);
  std::vector<float> x(static_cast<size_t>(s.x.image), 0.0f);
  for (int64_t g = 0; g < groups; ++g)
    x[static_cast<size_t>((2 * 9 + 4) * s.x.pixel + g * channels)] = special;
  ConvolutionTail tail;
  tail.clamp = clamp;
  auto weights = static_cast<size_t>(groups * channels * channels * 9);
  return run_dense(s, x, std::vector<float>(weights, 1.0f), tail);
}

TEST_P(TileGrouped, NanAndTinyNumbers) {
  for (float special : kSpecialNumbers)
    for (Clamp clamp : kClamps)
      for (auto [groups, channels] : {std::pair{5, 4}, {7, 4}, {7, 2}, {2, 11}, {3, 3}, {1, 21}})
        expect_around_middle(around(GetParam(), special, groups, channels, clamp),
                             groups * channels, special, clamp);
}

TEST_P(TileGrouped, ReluOfNaNRaisesNoFlag) {
  for (int64_t channels : {3, 4, 8, 11}) {
    std::feclearexcept(FE_ALL_EXCEPT);
    around(GetParam(), std::nanf(""), 3, channels, Clamp::Relu);
    EXPECT_FALSE(std::fetestexcept(FE_INVALID)) << channels;
  }
}

/// A NaN or infinite weight affects only the results that use it.
TEST_P(TileGrouped, PaddingIsLeftOut) {
  for (int64_t channels : {4, 8, 16}) {
    GroupedShape s = dense(GetParam(), 4, 4, 2, channels, channels);
    std::vector<float> w(static_cast<size_t>(2 * channels * channels * 9), 1.0f);
    for (size_t k = 0; k < w.size(); k += 9) w[k] = INFINITY; // the taps above and to the left
    std::vector<float> y =
        run_dense(s, std::vector<float>(static_cast<size_t>(s.x.image), 1.0f), w);
    for (size_t i = 0; i < 16; ++i)
      EXPECT_EQ(std::isinf(y[i * static_cast<size_t>(s.y.pixel)]), i / 4 > 0 && i % 4 > 0) << i;
  }
}

/// The bits do not depend on the number of threads or the width of a tile,
/// and are the same with AVX2.
TEST_P(TileGrouped, PartsAndTilesChangeNoBit) {
  for (auto [groups, inputs, outputs] :
       {std::tuple{19, 4, 4}, {5, 8, 8}, {2, 30, 34}, {1, 9, 150}}) {
    GroupedShape s = dense(Isa::Avx2, 29, 23, groups, inputs, outputs);
    RandomDraws r(3);
    std::vector<float> x = r.floats(s.x.image), w = r.floats(groups * outputs * inputs * 9);
    std::vector<float> first = run_dense(s, x, w);
    s.isa = GetParam();
    for (int threads : {1, 2, 3, 5, 8}) {
      std::vector<float> y = run_dense(s, x, w, {}, threads);
      EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0) << threads;
    }
    s.image.columns = s.result.columns = 1; // another tile, without neighbours
    s.before.columns = 0;
    s.kernel.columns = 1;
    for (size_t k = 0; k < w.size() / 3; ++k) w[k] = w[3 * k + 1];
    w.resize(w.size() / 3);
    std::vector<float> narrow = run_dense(s, x, w);
    s.image.columns = s.result.columns = 23;
    std::vector<float> wide = run_dense(s, x, w);
    for (int64_t row = 0; row < 29; ++row)
      EXPECT_EQ(std::memcmp(&narrow[static_cast<size_t>(row * s.y.row)],
                            &wide[static_cast<size_t>(row * s.y.row)],
                            static_cast<size_t>(s.y.pixel) * sizeof(float)),
                0);
  }
}

/// AVX-512 is chosen if its lanes are filled, or if the processor's AVX-512 does twice
/// as much per cycle anyway.
TEST(TileGroupedShape, InstructionSetsByTheirLanes) {
  Isa narrow = vectors_a_cycle(Isa::Avx512) < 2 ? Isa::Avx2 : Isa::Avx512;
  auto set = [](int64_t groups, int64_t inputs, int64_t outputs) {
    return Grouped::faster_isa(dense(Isa::Avx2, 28, 28, groups, inputs, outputs));
  };
  EXPECT_EQ(set(1, 64, 64), Isa::Avx512);
  EXPECT_EQ(set(1, 64, 24), narrow);
  EXPECT_EQ(set(1, 64, 8), narrow);
  EXPECT_EQ(set(32, 4, 4), Isa::Avx512); // four groups to a vector
  EXPECT_EQ(set(32, 8, 8), Isa::Avx512);
  EXPECT_EQ(set(8, 20, 20), narrow);
  EXPECT_EQ(vectors_a_cycle(Isa::Avx2), 2);
}

TEST(TileGroupedShape, TooLargeKernelsAreRefused) {
  GroupedShape s;
  s.inputs = s.outputs = 8;
  s.image = {1000, 1000};
  s.result = {1, 1};
  s.kernel = {1000, 100000};
  s.x = s.y = {8000000, 8000, 8};
  EXPECT_FALSE(Grouped::suits(s));
  EXPECT_FALSE(Grouped::make(s, {}, 1, caches()).ok());
}

} // namespace
} // namespace tg::tile
