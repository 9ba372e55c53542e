// Fixtures for tests of emitted convolutions: random windows, operands between inaccessible pages,
// and sums in float64. A depthwise convolution is a grouped one with one input and one output
// in each group.
#pragma once

#include "runtime/cpu/tile/convolution.h"
#include "tests/unit/random_draws.h"
#include "tests/unit/tile/guarded.h"

#include <cmath>
#include <optional>

namespace tg::tile {

inline constexpr float kNotWritten = -77;

/// The channels of a group.
struct GroupSizes {
  int64_t groups, inputs, outputs;
  int64_t all_inputs() const { return groups * inputs; }
  int64_t all_outputs() const { return groups * outputs; }
};

struct ConvolutionCase {
  ConvolutionTail tail;
  bool in_place = false, at_end = false;
  int threads = 1;
  std::optional<ConvolutionSchedule> schedule = {}; // by default the rule's
};

/// Any stride, dilation and padding; images of one pixel or narrower than the kernel; batches.
inline void random_window(RandomDraws& r, ConvolutionShape& s) {
  auto results = [](int64_t image, int64_t kernel, int64_t stride, int64_t dilation,
                    int64_t padding) {
    int64_t room = image + padding - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
  };
  do {
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
  } while (s.result.rows == 0 || s.result.columns == 0);
  s.images = r.coin() ? 1 : r.in(2, 3);
}

/// Volumes: also any stride, dilation and padding of planes.
inline void random_depth(RandomDraws& r, ConvolutionShape& s) {
  Depth& d = s.depth;
  do {
    d.kernel = r.in(1, 4);
    d.stride = r.in(1, 2);
    d.dilation = r.in(1, 2);
    int64_t padding = r.in(0, 4);
    d.before = r.in(0, padding);
    d.image = r.in(1, 6);
    int64_t room = d.image + padding - (d.kernel - 1) * d.dilation - 1;
    d.result = room < 0 ? 0 : room / d.stride + 1;
  } while (d.result == 0);
  s.image = {r.in(1, 8), r.in(1, 20)};
  auto results = [](int64_t image, int64_t before, int64_t kernel, int64_t stride, int64_t gap) {
    return std::max<int64_t>(1, (image + 2 * before - (kernel - 1) * gap - 1) / stride + 1);
  };
  s.result = {results(s.image.rows, s.before.rows, s.kernel.rows, s.stride.rows, s.dilation.rows),
              results(s.image.columns, s.before.columns, s.kernel.columns, s.stride.columns,
                      s.dilation.columns)};
}

inline ConvolutionCase random_case(RandomDraws& r) {
  ConvolutionCase c;
  c.tail.bias = r.coin();
  c.in_place = r.in(0, 3) == 0;
  c.tail.residual = c.in_place || r.coin();
  c.tail.clamp = r.of({Clamp::None, Clamp::Relu, Clamp::Relu6});
  c.tail.finish = r.in(0, 3) == 0;
  c.at_end = r.coin();
  c.threads = static_cast<int>(r.in(1, 5));
  return c;
}

/// Returns a random suitable schedule in half of the cases. `largest` has the maximum
/// of each number.
template <class Kernel, class Shape>
std::optional<ConvolutionSchedule> random_schedule(RandomDraws& r, const Shape& s,
                                                   const ConvolutionTail& tail,
                                                   const ConvolutionSchedule& largest) {
  for (int draw = 0; draw < 100 && r.coin(); ++draw) {
    ConvolutionSchedule drawn{r.in(1, largest.rows),    r.in(1, largest.columns),
                              r.in(1, largest.vectors), r.in(1, largest.bands),
                              r.in(1, largest.spans),   r.in(1, largest.sets_at_once)};
    if (Kernel::suits(s, tail, drawn)) return drawn;
  }
  return {};
}

/// Sets steps with or without gaps between pixels and rows. Returns the number of elements.
inline int64_t lay(RandomDraws& r, const ConvolutionShape& s, const Plane& plane, int64_t planes,
                   int64_t channels, PixelSteps& steps) {
  steps.pixel = channels + (r.coin() ? 0 : r.in(1, 9));
  steps.row = plane.columns * steps.pixel + (r.coin() ? 0 : r.in(1, 20));
  steps.plane = plane.rows * steps.row + (r.coin() ? 0 : r.in(1, 30));
  steps.image = planes * steps.plane;
  return (s.images - 1) * steps.image + (planes - 1) * steps.plane + (plane.rows - 1) * steps.row +
         (plane.columns - 1) * steps.pixel + channels;
}

/// Calls f(offset in y, plane among all images, row, column, channel) for every result.
template <class F> void each_result(const ConvolutionShape& s, const GroupSizes& g, const F& f) {
  for (int64_t n = 0; n < s.planes(); ++n)
    for (int64_t i = 0; i < s.result.rows; ++i)
      for (int64_t j = 0; j < s.result.columns; ++j)
        for (int64_t k = 0; k < g.all_outputs(); ++k)
          f(s.plane_at(s.y, n) + i * s.y.row + j * s.y.pixel + k, n, i, j, k);
}

/// A result in float64: the sum of the terms inside the image, and the sum of their absolute
/// values.
struct ExpectedSum {
  double sum = 0, size = 0;
  void add(double term) {
    sum += term;
    size += std::abs(term);
  }
};

/// Weights are w[groups * outputs][inputs][plane][row][column]. `residual` is used
/// if the tail has one.
inline ExpectedSum expected_sum(const ConvolutionShape& s, const GroupSizes& g,
                                const ConvolutionTail& tail, const ConvolutionData& data,
                                const float* w, int64_t plane, int64_t row, int64_t column,
                                int64_t channel) {
  ExpectedSum e;
  if (tail.bias) e.add(data.bias[channel]);
  if (tail.residual)
    e.add(data.residual[s.plane_at(s.residual, plane) + row * s.residual.row +
                        column * s.residual.pixel + channel]);
  for (int64_t tap = 0; tap < s.taps(); ++tap) {
    int64_t d = plane % s.depth.result * s.depth.stride - s.depth.before +
                tap / s.kernel.columns / s.kernel.rows * s.depth.dilation;
    int64_t y = row * s.stride.rows - s.before.rows +
                tap / s.kernel.columns % s.kernel.rows * s.dilation.rows;
    int64_t z =
        column * s.stride.columns - s.before.columns + tap % s.kernel.columns * s.dilation.columns;
    if (d < 0 || y < 0 || z < 0 || d >= s.depth.image || y >= s.image.rows || z >= s.image.columns)
      continue;
    const float* pixel = data.x + plane / s.depth.result * s.x.image + d * s.x.plane + y * s.x.row +
                         z * s.x.pixel + channel / g.outputs * g.inputs;
    for (int64_t k = 0; k < g.inputs; ++k)
      e.add(static_cast<double>(pixel[k]) *
            static_cast<double>(w[(channel * g.inputs + k) * s.taps() + tap]));
  }
  if (tail.clamp != Clamp::None) e.sum = std::max(e.sum, 0.0);
  if (tail.clamp == Clamp::Relu6) e.sum = std::min(e.sum, 6.0);
  return e;
}

/// Runs the parts in reverse order. Returns the error, or "".
inline std::string run_parts(const Convolution& made, const ConvolutionCase& c, int64_t results,
                             ConvolutionData data) {
  int64_t finished = 0;
  auto count = [&](const FinishedBlock& block) { finished += block.rows * block.columns; };
  if (c.tail.finish) data.finish = count;
  if (made.parts() > c.threads) return "more parts than threads";
  for (int part = made.parts(); part-- > 0;) made.run(part, data);
  if (c.tail.finish && finished != results) return "finished " + std::to_string(finished);
  return "";
}

/// Checks a convolution on random numbers by its definition: each result is right within `off`,
/// and nothing else is written. Returns the error, or "".
template <class Kernel, class Shape, class Pack, class Off>
std::string check_convolution(RandomDraws& r, Shape& s, const GroupSizes& g,
                              const ConvolutionCase& c, const Pack& pack, const Off& off) {
  Guarded x(lay(r, s, s.image, s.depth.image, g.all_inputs(), s.x), c.at_end);
  Guarded y(lay(r, s, s.result, s.depth.result, g.all_outputs(), s.y), c.at_end);
  Guarded other(lay(r, s, s.result, s.depth.result, g.all_outputs(), s.residual), c.at_end);
  if (c.in_place) s.residual = s.y;
  Guarded w(g.all_outputs() * g.inputs * s.taps(), c.at_end), bias(g.all_outputs(), c.at_end);
  int64_t weights =
      c.schedule ? Kernel::weight_elements(s, *c.schedule) : Kernel::weight_elements(s);
  Guarded packed(weights, c.at_end);
  for (Guarded* array : {&x, &w, &bias, &other})
    for (float& v : *array) v = 3 * r.number();
  pack(packed.data, w.data);
  std::fill(y.begin(), y.end(), kNotWritten);
  if (c.in_place) each_result(s, g, [&](int64_t at, auto...) { y.data[at] = r.number(); });
  std::vector<float> before(y.begin(), y.end());
  auto made = c.schedule ? Kernel::make(s, c.tail, *c.schedule, c.threads)
                         : Kernel::make(s, c.tail, c.threads, {4 << 10, 32 << 10});
  if (!made) return made.error().message;
  ConvolutionData data;
  data.x = x.data;
  data.weights = packed.data;
  data.bias = bias.data;
  data.residual = c.in_place ? y.data : other.data;
  data.y = y.data;
  int64_t results = s.planes() * s.result.rows * s.result.columns * g.all_outputs();
  std::string wrong = run_parts(**made, c, results, data);
  if (c.in_place) data.residual = before.data();
  std::vector<char> is_result(static_cast<size_t>(y.size()));
  each_result(s, g, [&](int64_t at, int64_t n, int64_t i, int64_t j, int64_t k) {
    is_result[static_cast<size_t>(at)] = 1;
    ExpectedSum want = expected_sum(s, g, c.tail, data, w.data, n, i, j, k);
    if (wrong.empty() && !(std::abs(y.data[at] - want.sum) <= off(want)))
      wrong = "plane " + std::to_string(n) + ", row " + std::to_string(i) + ", column " +
              std::to_string(j) + ", channel " + std::to_string(k) + " is " +
              std::to_string(y.data[at]) + ", not " + std::to_string(want.sum);
  });
  for (size_t at = 0; at < is_result.size() && wrong.empty(); ++at)
    if (!is_result[at] && y.data[at] != kNotWritten) wrong = "wrote between pixels";
  return wrong;
}

/// Runs all parts of a convolution without bias and residual, in order.
inline std::vector<float> run_made(const Convolution& made, const ConvolutionShape& s,
                                   const std::vector<float>& x, const std::vector<float>& packed) {
  std::vector<float> y(static_cast<size_t>(s.y.image));
  ConvolutionData data;
  data.x = x.data();
  data.weights = packed.data();
  data.y = y.data();
  for (int part = 0; part < made.parts(); ++part) made.run(part, data);
  return y;
}

/// Returns the results for a dense image, by packed weights.
template <class Kernel, class Shape>
std::vector<float> run_packed(const Shape& s, const std::vector<float>& x,
                              const std::vector<float>& packed, const ConvolutionTail& tail,
                              int threads) {
  auto made = Kernel::make(s, tail, threads, caches());
  EXPECT_TRUE(made.ok());
  return run_made(**made, s, x, packed);
}

/// Checks a 3 x 3 convolution with weights of one on an image of 5 x 9 that is zero except
/// for a special number in its middle.
inline void expect_around_middle(const std::vector<float>& y, int64_t channels, float special,
                                 Clamp clamp) {
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
inline constexpr float kSpecialNumbers[] = {NAN,     INFINITY, -INFINITY, 1e-42f,
                                            -1e-42f, 1e-45f,   9.0f};
inline constexpr Clamp kClamps[] = {Clamp::None, Clamp::Relu, Clamp::Relu6};

/// Runs for each instruction set. Other processors cannot run the code, and plans there never use
/// it (may_use_own_kernel), as tests/property/backends/tile_convolutions_test.cpp checks.
class EmittedConvolution : public testing::TestWithParam<Isa> {
protected:
  void SetUp() override {
    // Reason: without the instruction set, the code cannot run.
    if (!processor_has(GetParam()))
      GTEST_SKIP() << "emitted for " << isa_name(GetParam()) << ", which is not here";
  }
};
inline constexpr Isa kConvolutionSets[] = {Isa::Avx2, Isa::Avx512};
inline std::string set_name(const testing::TestParamInfo<Isa>& info) {
  return isa_name(info.param);
}

} // namespace tg::tile
