// Tests emitted transposed convolutions against sums in float64: any stride, dilation,
// cropping and output padding; kernels smaller than the stride, between whose results only the bias
// remains; groups and depthwise ones; pixels and rows with gaps. Operands and results
// are between inaccessible pages.
#include "runtime/cpu/tile/transposed.h"

#include "tests/unit/tile/convolution_cases.h"

#include <cfenv>
#include <cstring>

namespace tg::tile {
namespace {

class TileTransposed : public EmittedConvolution {};
INSTANTIATE_TEST_SUITE_P(Sets, TileTransposed, testing::ValuesIn(kConvolutionSets), set_name);

/// Implements the operator's definition: each pixel of x times the kernel,
/// summed where they overlap.
std::vector<ExpectedSum> expected_sums(const TransposedShape& s, const ConvolutionTail& tail,
                                       const ConvolutionData& data, const float* w) {
  int64_t channels = s.groups * s.outputs, pixels = s.images * s.result.rows * s.result.columns;
  std::vector<ExpectedSum> sums(static_cast<size_t>(pixels * channels));
  for (size_t i = 0; i < sums.size() && tail.bias; ++i)
    sums[i].add(data.bias[i % static_cast<size_t>(channels)]);
  auto each_tap = [&](int64_t n, int64_t i, int64_t j, const auto& f) {
    for (int64_t a = 0; a < s.kernel.rows; ++a)
      for (int64_t b = 0; b < s.kernel.columns; ++b) {
        int64_t row = i * s.stride.rows + a * s.dilation.rows - s.before.rows;
        int64_t column = j * s.stride.columns + b * s.dilation.columns - s.before.columns;
        if (row < 0 || column < 0 || row >= s.result.rows || column >= s.result.columns) continue;
        f((n * s.result.rows + row) * s.result.columns + column, a * s.kernel.columns + b);
      }
  };
  int64_t taps = s.kernel.rows * s.kernel.columns;
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t i = 0; i < s.image.rows; ++i)
      for (int64_t j = 0; j < s.image.columns; ++j)
        each_tap(n, i, j, [&](int64_t pixel, int64_t tap) {
          const float* x = data.x + n * s.x.image + i * s.x.row + j * s.x.pixel;
          for (int64_t k = 0; k < s.groups * s.inputs; ++k)
            for (int64_t o = 0; o < s.outputs; ++o)
              sums[static_cast<size_t>(pixel * channels + k / s.inputs * s.outputs + o)].add(
                  static_cast<double>(x[k]) *
                  static_cast<double>(w[(k * s.outputs + o) * taps + tap]));
        });
  for (ExpectedSum& e : sums) {
    if (tail.clamp != Clamp::None) e.sum = std::max(e.sum, 0.0);
    if (tail.clamp == Clamp::Relu6) e.sum = std::min(e.sum, 6.0);
  }
  return sums;
}

/// Returns the size of the result without cropping and output padding.
Plane uncut(const TransposedShape& s) {
  auto along = [](int64_t image, int64_t kernel, int64_t stride, int64_t dilation) {
    return (image - 1) * stride + (kernel - 1) * dilation + 1;
  };
  return {along(s.image.rows, s.kernel.rows, s.stride.rows, s.dilation.rows),
          along(s.image.columns, s.kernel.columns, s.stride.columns, s.dilation.columns)};
}

TransposedShape random_shape(RandomDraws& r) {
  TransposedShape s;
  bool usual = r.coin();
  auto small = [&] { return r.in(1, r.coin() ? 3 : 9); };
  do {
    s.image = {r.coin() ? 1 : r.in(1, 9), r.in(1, 20)};
    s.stride = usual ? Plane{2, 2} : Plane{r.in(1, 4), small()};
    s.kernel = usual ? Plane{r.in(2, 4), r.in(2, 4)} : Plane{r.in(1, 5), small()};
    s.dilation = usual || r.coin() ? Plane{1, 1} : Plane{r.in(1, 3), r.in(1, 4)};
    s.before = {r.in(0, 3), r.in(0, 3)};
    Plane whole = uncut(s);
    s.result = {whole.rows - s.before.rows - r.in(0, 2) + r.in(0, 2),
                whole.columns - s.before.columns - r.in(0, 2) + r.in(0, 2)};
  } while (s.result.rows < 1 || s.result.columns < 1);
  s.images = r.in(1, 2);
  s.groups = r.coin() ? 1 : r.in(1, 9);
  s.inputs = r.coin() ? r.of({1, 4, 16}) : r.in(1, 30);
  s.outputs = r.coin() ? s.inputs : r.in(1, 40);
  return s;
}

/// Returns the default schedules, or one schedule for all phases.
Transposed::Schedules random_schedules(RandomDraws& r, const TransposedShape& s,
                                       const ConvolutionCase& c) {
  if (s.groups > 1 || r.coin())
    return Transposed::default_schedules(s, c.tail, c.threads, {4 << 10, 32 << 10});
  return Transposed::fitted(s, {1, r.in(1, 13), r.in(1, 6), r.in(1, 5), r.in(1, 3), r.in(1, 4)});
}

TEST_P(TileTransposed, RandomConvolutions) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    RandomDraws r(seed);
    TransposedShape s = random_shape(r);
    s.isa = GetParam();
    ConvolutionCase c = random_case(r);
    c.tail.residual = false;
    Guarded x(lay(r, s, s.image, 1, s.groups * s.inputs, s.x), c.at_end);
    Guarded y(lay(r, s, s.result, 1, s.groups * s.outputs, s.y), c.at_end);
    Guarded w(s.groups * s.inputs * s.outputs * s.taps(), c.at_end);
    Guarded bias(s.groups * s.outputs, c.at_end);
    ASSERT_TRUE(Transposed::suits(s)) << seed;
    Transposed::Schedules schedules = random_schedules(r, s, c);
    Guarded packed(Transposed::weight_elements(s, schedules), c.at_end);
    Guarded packed_bias(Transposed::bias_elements(s), c.at_end);
    for (Guarded* array : {&x, &w, &bias})
      for (float& v : *array) v = 3 * r.number();
    std::fill(packed.begin(), packed.end(), NAN); // every element must be written
    Transposed::pack(packed.data, w.data, s, schedules);
    Transposed::pack_bias(packed_bias.data, bias.data, s);
    std::fill(y.begin(), y.end(), kNotWritten);
    auto made = Transposed::make(s, c.tail, schedules, c.threads);
    ASSERT_TRUE(made.ok()) << made.error().message;
    ConvolutionData data;
    data.x = x.data;
    data.weights = packed.data;
    data.bias = packed_bias.data;
    data.y = y.data;
    GroupSizes g = {s.groups, s.inputs, s.outputs};
    int64_t results = s.images * s.result.rows * s.result.columns * g.all_outputs();
    ASSERT_EQ(run_parts(**made, c, results, data), "") << seed;
    data.bias = bias.data;
    std::vector<ExpectedSum> want = expected_sums(s, c.tail, data, w.data);
    size_t next = 0;
    std::vector<char> is_result(static_cast<size_t>(y.size()));
    each_result(s, g, [&](int64_t at, int64_t, int64_t i, int64_t j, int64_t k) {
      is_result[static_cast<size_t>(at)] = 1;
      const ExpectedSum& e = want[next++];
      ASSERT_LE(std::abs(y.data[at] - e.sum), 1e-6 * (1 + e.size))
          << "seed " << seed << ", row " << i << ", column " << j << ", channel " << k;
    });
    for (size_t at = 0; at < is_result.size(); ++at)
      ASSERT_TRUE(is_result[at] || y.data[at] == kNotWritten) << "between pixels, seed " << seed;
    if (HasFatalFailure()) return;
  }
}

/// Square images and kernels without gaps.
TransposedShape dense(int64_t size, int64_t channels, int64_t outputs, int64_t kernel,
                      int64_t stride, int64_t before, int64_t groups = 1) {
  TransposedShape s;
  s.groups = groups;
  s.inputs = channels;
  s.outputs = outputs;
  s.image = {size, size};
  s.kernel = {kernel, kernel};
  s.stride = {stride, stride};
  s.dilation = {1, 1};
  s.before = {before, before};
  int64_t result = uncut(s).rows - 2 * before, from = groups * channels, to = groups * outputs;
  s.result = {result, result};
  s.x = {size * size * from, size * from, from};
  s.y = {result * result * to, result * to, to};
  return s;
}

std::vector<float> run_dense(const TransposedShape& s, const std::vector<float>& x,
                             const std::vector<float>& w, int threads = 1) {
  Transposed::Schedules schedules = Transposed::default_schedules(s, {}, threads, caches());
  std::vector<float> packed(static_cast<size_t>(Transposed::weight_elements(s, schedules)));
  Transposed::pack(packed.data(), w.data(), s, schedules);
  auto made = Transposed::make(s, {}, schedules, threads);
  EXPECT_TRUE(made.ok());
  return run_made(**made, s, x, packed);
}

/// Adjacent phases are merged if their outputs are adjacent.
TEST(TileTransposedShape, PhasesThatReadTheSamePixelsAreOne) {
  EXPECT_EQ(Transposed::phases(dense(14, 64, 32, 2, 2, 0)).size(), 2u);   // the phases of rows
  EXPECT_EQ(Transposed::phases(dense(14, 64, 32, 4, 2, 1)).size(), 4u);   // neighbours differ
  EXPECT_EQ(Transposed::phases(dense(14, 64, 32, 16, 8, 4)).size(), 16u); // 8 rows, 2 column halves
  EXPECT_EQ(Transposed::phases(dense(14, 64, 32, 3, 1, 1)).size(), 1u);
  TransposedShape apart = dense(14, 64, 32, 2, 2, 0);
  ++apart.y.pixel;
  EXPECT_EQ(Transposed::phases(apart).size(), 4u);
}

/// A NaN or infinite pixel affects only the results that use it.
TEST_P(TileTransposed, ConfinesNanAndInfinityToResultsThatReadThem) {
  for (float special : kSpecialNumbers)
    for (auto [groups, channels] : {std::pair{1, 11}, {3, 4}, {11, 1}}) {
      TransposedShape s = dense(4, channels, channels, 3, 2, 1, groups);
      s.isa = GetParam();
      std::vector<float> x(static_cast<size_t>(s.x.image), 0.0f);
      size_t pixel = static_cast<size_t>(s.x.pixel), outputs = static_cast<size_t>(s.y.pixel);
      for (int64_t g = 0; g < groups; ++g)
        x[(1 * 4 + 2) * pixel + static_cast<size_t>(g * channels)] = special;
      std::vector<float> w(static_cast<size_t>(groups * channels * channels * 9), 1.0f);
      std::vector<float> y = run_dense(s, x, w);
      for (int64_t i = 0; i < s.result.rows; ++i)
        for (int64_t j = 0; j < s.result.columns; ++j) {
          float got = y[static_cast<size_t>(i * s.result.columns + j) * outputs];
          bool near = std::abs(i - 2) <= 1 && std::abs(j - 4) <= 1;
          if (near && std::isnan(special))
            EXPECT_TRUE(std::isnan(got));
          else
            EXPECT_EQ(got, near ? special : 0.0f) << i << ", " << j;
        }
    }
}

TEST_P(TileTransposed, PartsChangeNoBit) {
  for (TransposedShape s : {dense(13, 20, 30, 4, 2, 1), dense(13, 20, 30, 2, 2, 0),
                            dense(13, 4, 4, 3, 2, 1, 7), dense(13, 1, 1, 4, 2, 1, 19)}) {
    s.isa = GetParam();
    RandomDraws r(3);
    std::vector<float> x = r.floats(s.x.image),
                       w = r.floats(s.groups * s.inputs * s.outputs * s.taps());
    std::vector<float> first = run_dense(s, x, w);
    for (int threads : {2, 3, 5, 8}) {
      std::vector<float> y = run_dense(s, x, w, threads);
      EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0) << threads;
    }
  }
}

TEST(TileTransposedShape, ManyPhasesAreRefused) {
  EXPECT_TRUE(Transposed::suits(dense(3, 4, 4, 8, 8, 0)));
  EXPECT_FALSE(Transposed::suits(dense(3, 4, 4, 9, 9, 0)));
}

} // namespace
} // namespace tg::tile
