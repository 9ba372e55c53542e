// Grouped convolutions by emitted code against sums in float64: groups that share a vector, fill
// some or are cut into sets, channels that fill no vector, images of a pixel or narrower than the
// kernel, any stride, dilation and padding, batches, pixels and rows with gaps, windows that lie in
// the padding altogether. Operands and results lie between pages that nobody may touch.
#include "runtime/tile/grouped.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tile/guarded.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

namespace tg::tile {
namespace {

constexpr float kNotWritten = -77;

struct GroupedCase {
  GroupedShape shape;
  ConvolutionTail tail;
  bool in_place = false, at_end = false;
  int threads = 1;
};

int64_t results(int64_t image, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding) {
  int64_t room = image + padding - (kernel - 1) * dilation - 1;
  return room < 0 ? 0 : room / stride + 1;
}

/// Pixels side by side or not; elements of the whole.
int64_t lay(RandomDraws& r, const GroupedShape& s, const Plane& plane, int64_t channels,
            PixelSteps& steps) {
  steps.pixel = channels + (r.coin() ? 0 : r.in(1, 9));
  steps.row = plane.columns * steps.pixel + (r.coin() ? 0 : r.in(1, 20));
  steps.image = plane.rows * steps.row;
  return (s.images - 1) * steps.image + (plane.rows - 1) * steps.row +
         (plane.columns - 1) * steps.pixel + channels;
}

void random_window(RandomDraws& r, GroupedShape& s) {
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

/// Groups of the sizes that networks have, of any small ones, or large enough for several sets.
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

GroupedCase random_grouped(RandomDraws& r) {
  GroupedCase c;
  GroupedShape& s = c.shape;
  do random_window(r, s);
  while (s.result.rows == 0 || s.result.columns == 0);
  s.images = r.coin() ? 1 : r.in(2, 3);
  random_channels(r, s);
  c.tail.bias = r.coin();
  c.in_place = r.in(0, 3) == 0;
  c.tail.residual = c.in_place || r.coin();
  c.tail.clamp = r.of({Clamp::None, Clamp::Relu, Clamp::Relu6});
  c.tail.finish = r.in(0, 3) == 0;
  c.at_end = r.coin();
  c.threads = static_cast<int>(r.in(1, 5));
  return c;
}

/// A result in float64, the sum of what lies inside the image; and of its terms without signs.
struct Expected {
  double sum = 0, size = 0;
  void add(double term) {
    sum += term;
    size += std::abs(term);
  }
};

Expected expected_pixel(const GroupedCase& c, const float* x, const float* w, const float* bias,
                        const float* residual, int64_t image, int64_t row, int64_t column,
                        int64_t channel) {
  const GroupedShape& s = c.shape;
  int64_t group = channel / s.outputs;
  Expected e;
  if (c.tail.bias) e.add(bias[channel]);
  if (c.tail.residual)
    e.add(residual[image * s.residual.image + row * s.residual.row + column * s.residual.pixel +
                   channel]);
  for (int64_t i = 0; i < s.kernel.rows; ++i)
    for (int64_t j = 0; j < s.kernel.columns; ++j) {
      int64_t y = row * s.stride.rows - s.before.rows + i * s.dilation.rows;
      int64_t z = column * s.stride.columns - s.before.columns + j * s.dilation.columns;
      if (y < 0 || z < 0 || y >= s.image.rows || z >= s.image.columns) continue;
      const float* pixel = x + image * s.x.image + y * s.x.row + z * s.x.pixel + group * s.inputs;
      for (int64_t k = 0; k < s.inputs; ++k)
        e.add(static_cast<double>(pixel[k]) *
              static_cast<double>(
                  w[((channel * s.inputs + k) * s.kernel.rows + i) * s.kernel.columns + j]));
    }
  if (c.tail.clamp != Clamp::None) e.sum = std::max(e.sum, 0.0);
  if (c.tail.clamp == Clamp::Relu6) e.sum = std::min(e.sum, 6.0);
  return e;
}

/// Whether each result is as expected, and nothing else was written: "" or what was wrong.
std::string compare_image(const GroupedCase& c, const float* x, const float* w, const float* bias,
                          const float* residual, Guarded& y) {
  const GroupedShape& s = c.shape;
  std::vector<char> is_result(static_cast<size_t>(y.end() - y.begin()));
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t i = 0; i < s.result.rows; ++i)
      for (int64_t j = 0; j < s.result.columns; ++j)
        for (int64_t k = 0; k < s.groups * s.outputs; ++k) {
          int64_t at = n * s.y.image + i * s.y.row + j * s.y.pixel + k;
          is_result[static_cast<size_t>(at)] = 1;
          Expected want = expected_pixel(c, x, w, bias, residual, n, i, j, k);
          if (!(std::abs(y.data[at] - want.sum) <= 1e-6 * (1 + want.size)))
            return "image " + std::to_string(n) + ", row " + std::to_string(i) + ", column " +
                   std::to_string(j) + ", channel " + std::to_string(k) + " is " +
                   std::to_string(y.data[at]) + ", not " + std::to_string(want.sum);
        }
  for (size_t at = 0; at < is_result.size(); ++at)
    if (!is_result[at] && y.data[at] != kNotWritten) return "wrote between pixels";
  return "";
}

std::string check_grouped(RandomDraws& r, GroupedCase& c) {
  GroupedShape& s = c.shape;
  Guarded x(lay(r, s, s.image, s.groups * s.inputs, s.x), c.at_end),
      y(lay(r, s, s.result, s.groups * s.outputs, s.y), c.at_end);
  Guarded other(lay(r, s, s.result, s.groups * s.outputs, s.residual), c.at_end);
  if (c.in_place) s.residual = s.y;
  Guarded w(s.groups * s.outputs * s.inputs * s.taps(), c.at_end);
  Guarded bias(s.groups * s.outputs, c.at_end);
  Guarded packed(Grouped::weight_elements(s), c.at_end);
  for (Guarded* g : {&x, &w, &bias, &other})
    for (float& v : *g) v = 3 * r.number();
  Grouped::pack(packed.data, w.data, s);
  std::fill(y.begin(), y.end(), kNotWritten);
  if (c.in_place)
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t i = 0; i < s.result.rows; ++i)
        for (int64_t j = 0; j < s.result.columns; ++j)
          for (int64_t k = 0; k < s.groups * s.outputs; ++k)
            y.data[n * s.y.image + i * s.y.row + j * s.y.pixel + k] = r.number();
  std::vector<float> before(y.begin(), y.end());
  auto made = Grouped::make(s, c.tail, c.threads, {4 << 10, 32 << 10});
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
  if (c.tail.finish &&
      finished != s.images * s.result.rows * s.result.columns * s.groups * s.outputs)
    return "finished " + std::to_string(finished);
  return compare_image(c, x.data, w.data, bias.data, c.in_place ? before.data() : other.data, y);
}

/// The code is emitted for AVX2 and nothing else, so other processors cannot run it: there plans
/// never ask for it (may_be_ours), which tests/property/backends/tile_convolutions_test.cpp holds.
class TileGrouped : public testing::Test {
protected:
  void SetUp() override {
    if (!processor_has(Isa::Avx2)) GTEST_SKIP() << "grouped code is for AVX2, which is not here";
  }
};

TEST_F(TileGrouped, RandomConvolutions) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    RandomDraws r(seed);
    GroupedCase c = random_grouped(r);
    std::string wrong = check_grouped(r, c);
    const GroupedShape& s = c.shape;
    ASSERT_EQ(wrong, "") << "seed " << seed << ": " << s.images << " x " << s.groups << " x "
                         << s.inputs << " to " << s.outputs << ", " << s.image.rows << " x "
                         << s.image.columns << " by " << s.kernel.rows << " x " << s.kernel.columns;
  }
}

/// A dense image, padding of 1 around 3 x 3.
GroupedShape dense(int64_t rows, int64_t columns, int64_t groups, int64_t inputs, int64_t outputs) {
  GroupedShape s;
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
  std::vector<float> y(static_cast<size_t>(s.y.image));
  Grouped::pack(packed.data(), w.data(), s);
  auto made = Grouped::make(s, tail, threads, caches());
  EXPECT_TRUE(made.ok());
  ConvolutionData data;
  data.x = x.data();
  data.weights = packed.data();
  data.y = y.data();
  for (int part = 0; part < (*made)->parts(); ++part) (*made)->run(part, data);
  return y;
}

/// An image of zeros but for one pixel, by a kernel of ones.
std::vector<float> around(float special, int64_t groups, int64_t channels, Clamp clamp) {
  GroupedShape s = dense(5, 9, groups, channels, channels);
  std::vector<float> x(static_cast<size_t>(s.x.image), 0.0f);
  for (int64_t g = 0; g < groups; ++g)
    x[static_cast<size_t>((2 * 9 + 4) * s.x.pixel + g * channels)] = special;
  ConvolutionTail tail;
  tail.clamp = clamp;
  auto weights = static_cast<size_t>(groups * channels * channels * 9);
  return run_dense(s, x, std::vector<float>(weights, 1.0f), tail);
}

TEST_F(TileGrouped, NumbersThatAreNoneAndTinyOnes) {
  for (float special : {std::nanf(""), INFINITY, -INFINITY, 1e-42f, -1e-42f, 1e-45f, 9.0f})
    for (Clamp clamp : {Clamp::None, Clamp::Relu, Clamp::Relu6})
      for (auto [groups, channels] : {std::pair{5, 4}, {7, 2}, {2, 11}, {3, 3}}) {
        std::vector<float> y = around(special, groups, channels, clamp);
        float want = clamp != Clamp::None && special < 0 ? 0 : special;
        if (clamp == Clamp::Relu6 && special > 6) want = 6;
        for (int64_t i = 0; i < 45; ++i)
          for (int64_t k = 0; k < groups * channels; ++k) {
            float got = y[static_cast<size_t>(i * groups * channels + k)];
            bool near = std::abs(i / 9 - 2) <= 1 && std::abs(i % 9 - 4) <= 1;
            if (near && std::isnan(want))
              EXPECT_TRUE(std::isnan(got));
            else
              EXPECT_EQ(got, near ? want : 0.0f);
          }
      }
}

TEST_F(TileGrouped, ReluOfNaNRaisesNoFlag) {
  for (int64_t channels : {3, 4, 8, 11}) {
    std::feclearexcept(FE_ALL_EXCEPT);
    around(std::nanf(""), 3, channels, Clamp::Relu);
    EXPECT_FALSE(std::fetestexcept(FE_INVALID)) << channels;
  }
}

/// So a weight that is no number spoils those results alone that it meets.
TEST_F(TileGrouped, PaddingIsLeftOut) {
  for (int64_t channels : {4, 8, 16}) {
    GroupedShape s = dense(4, 4, 2, channels, channels);
    std::vector<float> w(static_cast<size_t>(2 * channels * channels * 9), 1.0f);
    for (size_t k = 0; k < w.size(); k += 9) w[k] = INFINITY; // above and to the left
    std::vector<float> y =
        run_dense(s, std::vector<float>(static_cast<size_t>(s.x.image), 1.0f), w);
    for (size_t i = 0; i < 16; ++i)
      EXPECT_EQ(std::isinf(y[i * static_cast<size_t>(s.y.pixel)]), i / 4 > 0 && i % 4 > 0) << i;
  }
}

/// The same bits, however many threads part the work, and whatever the width of a tile.
TEST_F(TileGrouped, PartsAndTilesChangeNoBit) {
  for (auto [groups, inputs, outputs] :
       {std::tuple{19, 4, 4}, {5, 8, 8}, {2, 30, 34}, {1, 9, 150}}) {
    GroupedShape s = dense(29, 23, groups, inputs, outputs);
    RandomDraws r(3);
    std::vector<float> x = r.floats(s.x.image), w = r.floats(groups * outputs * inputs * 9);
    std::vector<float> first = run_dense(s, x, w);
    for (int threads : {2, 3, 5, 8}) {
      std::vector<float> y = run_dense(s, x, w, {}, threads);
      EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0) << threads;
    }
    s.image.columns = s.result.columns = 1; // another tile, and no neighbours
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
