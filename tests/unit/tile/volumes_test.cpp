// Tests emitted convolutions of volumes against sums in float64: any stride,
// dilation and padding of planes, rows and columns, volumes of one plane or thinner
// than the kernel, batches, planes, rows and pixels with gaps, windows entirely in the padding;
// dense, in groups, depthwise.
#include "runtime/cpu/tile/depthwise.h"
#include "runtime/cpu/tile/grouped.h"

#include "tests/unit/tile/convolution_cases.h"

#include <cfenv>
#include <cstring>

namespace tg::tile {
namespace {

class TileVolumes : public EmittedConvolution {};
INSTANTIATE_TEST_SUITE_P(Sets, TileVolumes, testing::ValuesIn(kConvolutionSets), set_name);

std::string described(const ConvolutionShape& s, const GroupSizes& g) {
  return std::to_string(g.groups) + " x " + std::to_string(g.inputs) + " to " +
         std::to_string(g.outputs) + ", " + std::to_string(s.depth.image) + " x " +
         std::to_string(s.image.rows) + " x " + std::to_string(s.image.columns) + " by " +
         std::to_string(s.depth.kernel) + " x " + std::to_string(s.kernel.rows) + " x " +
         std::to_string(s.kernel.columns);
}

TEST_P(TileVolumes, RandomGroups) {
  for (uint64_t seed = 0; seed < 900; ++seed) {
    RandomDraws r(seed);
    GroupedShape s;
    s.isa = GetParam();
    random_window(r, s);
    random_depth(r, s);
    s.groups = r.coin() ? 1 : r.in(1, 9);
    s.inputs = r.coin() ? 4 : r.in(1, 20);
    s.outputs = r.coin() ? s.inputs : r.in(1, 60);
    ConvolutionCase c = random_case(r);
    c.schedule = random_schedule<Grouped>(
        r, s, c.tail, {1, s.isa == Isa::Avx2 ? 13 : 29, 6, s.result.rows, 9, 9});
    std::string wrong = check_convolution<Grouped>(
        r, s, {s.groups, s.inputs, s.outputs}, c,
        [&](float* to, const float* w) {
          Grouped::pack(to, w, s, c.schedule ? Grouped::tile(s, *c.schedule) : Grouped::tile(s));
        },
        [](const ExpectedSum& want) { return 1e-6 * (1 + want.size); });
    ASSERT_EQ(wrong, "") << "seed " << seed << ": "
                         << described(s, {s.groups, s.inputs, s.outputs});
  }
}

/// One tap per plane and many inputs: each plane prefetches the lines of the next tile.
TEST_P(TileVolumes, KernelsOfPlanesAlone) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomDraws r(seed);
    GroupedShape s;
    s.isa = GetParam();
    s.images = r.in(1, 2);
    s.image = s.result = {r.in(1, 5), r.in(1, 40)};
    s.kernel = s.stride = s.dilation = {1, 1};
    s.before = {0, 0};
    random_depth(r, s);
    s.inputs = r.in(16, 90);
    s.outputs = r.in(1, 70);
    ConvolutionCase c = random_case(r);
    c.schedule = random_schedule<Grouped>(
        r, s, c.tail, {1, s.isa == Isa::Avx2 ? 13 : 29, 6, s.result.rows, 9, 9});
    std::string wrong = check_convolution<Grouped>(
        r, s, {1, s.inputs, s.outputs}, c,
        [&](float* to, const float* w) {
          Grouped::pack(to, w, s, c.schedule ? Grouped::tile(s, *c.schedule) : Grouped::tile(s));
        },
        [](const ExpectedSum& want) { return 1e-6 * (1 + want.size); });
    ASSERT_EQ(wrong, "") << "seed " << seed << ": " << described(s, {1, s.inputs, s.outputs});
  }
}

TEST_P(TileVolumes, RandomDepthwise) {
  for (uint64_t seed = 0; seed < 900; ++seed) {
    RandomDraws r(seed);
    DepthwiseShape s;
    s.isa = GetParam();
    random_window(r, s);
    random_depth(r, s);
    s.channels = r.coin() ? 8 * r.in(1, 5) : r.in(1, 45);
    ConvolutionCase c = random_case(r);
    c.schedule = random_schedule<Depthwise>(r, s, c.tail, {2, 12, 1, s.result.rows, 6, 1});
    std::string wrong = check_convolution<Depthwise>(
        r, s, {s.channels, 1, 1}, c, [&](float* to, const float* w) { Depthwise::pack(to, w, s); },
        [](const ExpectedSum& want) { return 1e-5 * (1 + want.size); });
    ASSERT_EQ(wrong, "") << "seed " << seed << ": " << described(s, {s.channels, 1, 1});
  }
}

/// A dense volume with a padding of 1 and a 3 x 3 x 3 kernel.
GroupedShape dense(Isa isa, const Depth& depth, int64_t size, int64_t groups, int64_t channels) {
  GroupedShape s;
  s.isa = isa;
  s.groups = groups;
  s.inputs = s.outputs = channels;
  s.depth = depth;
  s.image = s.result = {size, size};
  s.kernel = {3, 3};
  s.before = {1, 1};
  int64_t pixel = groups * channels;
  s.x = s.y = {depth.image * size * size * pixel, size * pixel, pixel, size * size * pixel};
  return s;
}
constexpr Depth kThree = {4, 4, 3, 1, 1, 1};

std::vector<float> run_dense(const GroupedShape& s, const std::vector<float>& x,
                             const std::vector<float>& w, const ConvolutionTail& tail = {},
                             int threads = 1) {
  if (s.inputs == 1 && s.outputs == 1) {
    DepthwiseShape of = depthwise_shape(s);
    std::vector<float> packed(static_cast<size_t>(Depthwise::weight_elements(of)));
    Depthwise::pack(packed.data(), w.data(), of);
    return run_packed<Depthwise>(of, x, packed, tail, threads);
  }
  std::vector<float> packed(static_cast<size_t>(Grouped::weight_elements(s)));
  Grouped::pack(packed.data(), w.data(), s);
  return run_packed<Grouped>(s, x, packed, tail, threads);
}

/// A NaN or infinite weight affects only the results that use it.
TEST_P(TileVolumes, PaddingIsLeftOut) {
  for (auto [groups, channels] : {std::pair{1, 16}, {5, 4}, {2, 8}, {11, 1}}) {
    GroupedShape s = dense(GetParam(), kThree, 4, groups, channels);
    std::vector<float> w(static_cast<size_t>(groups * channels * channels * 27), 1.0f);
    for (size_t k = 0; k < w.size(); k += 27) w[k] = INFINITY; // in front, above, to the left
    std::vector<float> y =
        run_dense(s, std::vector<float>(static_cast<size_t>(s.x.image), 1.0f), w);
    for (size_t i = 0; i < 64; ++i)
      EXPECT_EQ(std::isinf(y[i * static_cast<size_t>(s.y.pixel)]),
                i / 16 > 0 && i / 4 % 4 > 0 && i % 4 > 0)
          << channels << " at " << i;
  }
}

/// A volume of zeros with one number in the middle, convolved with ones.
TEST_P(TileVolumes, NanAndTinyNumbers) {
  for (float special : kSpecialNumbers)
    for (Clamp clamp : kClamps)
      for (auto [groups, channels] : {std::pair{1, 11}, {5, 4}, {11, 1}}) {
        GroupedShape s = dense(GetParam(), kThree, 4, groups, channels);
        std::vector<float> x(static_cast<size_t>(s.x.image), 0.0f);
        size_t pixel = static_cast<size_t>(s.x.pixel), middle = 16 + 4 + 1;
        for (int64_t g = 0; g < groups; ++g)
          x[middle * pixel + static_cast<size_t>(g * channels)] = special;
        std::vector<float> w(static_cast<size_t>(groups * channels * channels * 27), 1.0f);
        ConvolutionTail tail;
        tail.clamp = clamp;
        float want = clamp != Clamp::None && special < 0 ? 0 : special;
        if (clamp == Clamp::Relu6 && special > 6) want = 6;
        std::vector<float> y = run_dense(s, x, w, tail);
        for (size_t i = 0; i < 64; ++i) {
          bool near = i / 16 < 3 && i / 4 % 4 < 3 && i % 4 < 3;
          float got = y[i * pixel];
          if (near && std::isnan(want))
            EXPECT_TRUE(std::isnan(got));
          else
            EXPECT_EQ(got, near ? want : 0.0f) << channels << " at " << i;
        }
      }
}

TEST_P(TileVolumes, ReluOfNaNRaisesNoFlag) {
  GroupedShape s = dense(GetParam(), kThree, 4, 1, 11);
  std::vector<float> x(static_cast<size_t>(s.x.image), std::nanf(""));
  ConvolutionTail tail;
  tail.clamp = Clamp::Relu;
  std::feclearexcept(FE_ALL_EXCEPT);
  run_dense(s, x, std::vector<float>(11 * 11 * 27, 1.0f), tail);
  EXPECT_FALSE(std::fetestexcept(FE_INVALID));
}

/// The bits do not depend on the number of threads that share the planes.
TEST_P(TileVolumes, PartsChangeNoBit) {
  for (auto [groups, channels] : {std::pair{1, 20}, {7, 4}, {2, 30}, {19, 1}}) {
    GroupedShape s = dense(GetParam(), {5, 5, 3, 1, 1, 1}, 9, groups, channels);
    RandomDraws r(3);
    std::vector<float> x = r.floats(s.x.image), w = r.floats(groups * channels * channels * 27);
    std::vector<float> first = run_dense(s, x, w);
    for (int threads : {2, 3, 5, 8}) {
      std::vector<float> y = run_dense(s, x, w, {}, threads);
      EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0) << threads;
    }
  }
}

} // namespace
} // namespace tg::tile
