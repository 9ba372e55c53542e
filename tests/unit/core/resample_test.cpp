// Tests resampled axes (positions and weights), and compares `resize` with a second implementation
// of ONNX's definition, element by element, over random modes, coordinates, sizes and scales.
#include "lang/core/resample.h"
#include "lang/core/semantics/semantics.h"
#include "lang/core/shape_rules.h"

#include "tests/unit/random_draws.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg {
namespace {

using Places = std::vector<int64_t>;
using Weights = std::vector<double>;

ResampledAxis axis(int64_t in, int64_t out) {
  ResampledAxis axis;
  axis.in = in;
  axis.out = out;
  axis.scale = static_cast<double>(out) / static_cast<double>(in);
  return axis;
}

Places nearest(const ResampledAxis& axis, ResizeRounding rounding, ResizeCoordinates coordinates) {
  AxisTaps taps = axis_taps({ResizeMode::Nearest, coordinates, rounding}, axis);
  EXPECT_TRUE(taps.is_selection());
  return taps.places;
}

TEST(Resample, NearestPlacesFollowTheRoundingAtHalves) {
  // The result's elements have the coordinates -0.25, 0.25, 0.75, 1.25.
  auto half = ResizeCoordinates::HalfPixel;
  EXPECT_EQ(nearest(axis(2, 4), ResizeRounding::Ceil, half), (Places{0, 1, 1, 1}));
  EXPECT_EQ(nearest(axis(2, 4), ResizeRounding::Floor, half), (Places{0, 0, 0, 1}));
  // The coordinates are 0.5 and 2.5.
  EXPECT_EQ(nearest(axis(4, 2), ResizeRounding::RoundPreferFloor, half), (Places{0, 2}));
  EXPECT_EQ(nearest(axis(4, 2), ResizeRounding::RoundPreferCeil, half), (Places{1, 3}));
}

TEST(Resample, PlacesAreThoseOfFloats) {
  // In doubles, element 4 is below 3. The float 4 / 3 is above the double 4 / 3.
  ResampledAxis from_scale = axis(6, 8);
  from_scale.scale = static_cast<double>(static_cast<float>(4.0 / 3.0));
  EXPECT_EQ(nearest(from_scale, ResizeRounding::Floor, ResizeCoordinates::Asymmetric),
            (Places{0, 0, 1, 2, 3, 3, 4, 5}));
}

TEST(Resample, WeightsOfOnePlaceAreAdded) {
  AxisTaps taps = axis_taps({ResizeMode::Linear}, axis(2, 4));
  EXPECT_EQ(taps.first, (Places{0, 1, 3, 5, 6}));
  EXPECT_EQ(taps.places, (Places{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(taps.weights, (Weights{1, 0.75, 0.25, 0.25, 0.75, 1}));
  AxisTaps even = even_taps(taps);
  EXPECT_EQ(even.places, (Places{0, 0, 0, 1, 0, 1, 1, 1}));
  EXPECT_EQ(even.weights, (Weights{0.5, 0.5, 0.75, 0.25, 0.25, 0.75, 0.5, 0.5}));
}

TEST(Resample, NothingIsReadOutsideOfARegion) {
  ResampledAxis crop = axis(5, 3); // at -1, 1, 3
  crop.start = -0.25;
  crop.end = 0.75;
  AxisTaps taps = axis_taps({ResizeMode::Linear, ResizeCoordinates::TfCropAndResize}, crop);
  EXPECT_EQ(taps.first, (Places{0, 0, 1, 2}));
  EXPECT_EQ(taps.places, (Places{1, 3}));
}

// --- the second implementation -------------------------------------------------------------------

struct Case {
  std::string mode, coordinates, rounding;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;
  std::vector<double> scales; // empty: from the sizes
};

template <class T> T source_of(const Case& c, T i, T in, T out, T scale) {
  if (c.coordinates == "align_corners") return out == 1 ? 0 : i * (in - 1) / (out - 1);
  if (c.coordinates == "asymmetric") return i / scale;
  if (c.coordinates == "pytorch_half_pixel" && out == 1) return 0;
  T half = static_cast<T>(0.5), x = (i + half) / scale - half;
  if (c.coordinates != "half_pixel_symmetric") return x;
  return in / 2 * (1 - out / (scale * in)) + x;
}

/// ONNX's interpolate_1d: coefficients of the elements around x, on an axis padded
/// with its end values.
double interpolated(const Case& c, llvm::ArrayRef<double> x, double at, double scale) {
  double ratio = at - std::floor(at);
  if (at == std::floor(at)) ratio = 1; // as in ONNX: the ratio for the element before
  int64_t first = static_cast<int64_t>(std::ceil(at)) - 1;
  double narrow = c.antialias ? std::min(scale, 1.0) : 1;
  bool cubic = c.mode == "cubic";
  auto reach = static_cast<int64_t>(std::ceil((cubic ? 2 : 1) / narrow)) + 1;
  double total = 0, sum = 0;
  for (int64_t k = -reach; k <= reach + 1; ++k) {
    double t = std::abs((static_cast<double>(k) - ratio) * narrow), a = c.cubic_a;
    double w = !cubic  ? std::max(0.0, 1 - t)
               : t < 1 ? (a + 2) * t * t * t - (a + 3) * t * t + 1
               : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a
                       : 0;
    int64_t place = first + k, last = static_cast<int64_t>(x.size()) - 1;
    if (c.exclude_outside && (place < 0 || place > last)) continue;
    total += w;
    sum += w * x[static_cast<size_t>(std::clamp<int64_t>(place, 0, last))];
  }
  return c.exclude_outside || narrow < 1 ? sum / total : sum;
}

double taken(const Case& c, llvm::ArrayRef<double> x, float at) {
  double place = c.rounding == "floor"  ? std::floor(at)
                 : c.rounding == "ceil" ? std::ceil(at)
                                        : std::round(at);
  double half = static_cast<double>(at) - std::floor(at);
  if (half == 0.5 && c.rounding == "round_prefer_floor") place = std::floor(at);
  if (half == 0.5 && c.rounding == "round_prefer_ceil") place = std::ceil(at);
  return x[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(x.size() - 1)))];
}

/// Resamples x[outer, in, inner] along `in`.
std::vector<double> along(const Case& c, const std::vector<double>& x, int64_t in, int64_t out,
                          int64_t inner, double scale) {
  int64_t outer = static_cast<int64_t>(x.size()) / (in * inner);
  std::vector<double> result, line(static_cast<size_t>(in));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < out; ++i)
      for (int64_t n = 0; n < inner; ++n) {
        for (int64_t k = 0; k < in; ++k)
          line[static_cast<size_t>(k)] = x[static_cast<size_t>((o * in + k) * inner + n)];
        auto source = [&]<class T>(T kind) {
          return source_of<T>(c, static_cast<T>(i), static_cast<T>(in), static_cast<T>(out),
                              static_cast<T>(scale) + kind);
        };
        result.push_back(in == out && scale == 1 ? line[static_cast<size_t>(i)]
                         : c.mode == "nearest"   ? taken(c, line, source(0.0f))
                                                 : interpolated(c, line, source(0.0), scale));
      }
  return result;
}

Case random_case(RandomDraws& r) {
  Case c;
  c.mode = r.of({"nearest", "linear", "cubic"});
  c.coordinates = r.of(
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"});
  c.rounding = r.of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  c.cubic_a = c.mode == "cubic" ? r.of({-0.75, -0.5, 0.25}) : -0.75;
  c.antialias = c.mode != "nearest" && r.coin();
  c.exclude_outside = c.mode != "nearest" && r.coin();
  return c;
}

std::vector<double> resized(const Case& c, const std::vector<double>& x, Shape shape,
                            const Shape& sizes) {
  Symbols symbols;
  llvm::SmallVector<ValueId, 9> attrs;
  for (const Value& value :
       {Value::of_ints(sizes), Value::of_string(c.mode), Value::of_string(c.coordinates),
        Value::of_floats(c.scales), Value::of_string(c.rounding), Value::of_float(c.cubic_a),
        Value::of_bool(c.antialias), Value::of_bool(c.exclude_outside), Value::of_floats({})})
    attrs.push_back(symbols.value(value));
  TypeId type;
  std::string why;
  EXPECT_TRUE(
      infer(symbols, OpKind::Resize, attrs, {symbols.type({DType::F64, shape})}, type, &why))
      << why;
  llvm::SmallVector<const Value*, 9> normal;
  for (ValueId id : attrs) normal.push_back(&symbols.value(id));
  std::vector<double> result(static_cast<size_t>(symbols.type(type).elements()));
  std::vector<ConstView<double>> views = {{x.data(), shape}};
  evaluate_op<double>(OpKind::Resize, normal, views, {result.data(), symbols.type(type).shape}, {});
  return result;
}

TEST(Resample, ResizeIsOnnxsDefinition) {
  RandomDraws r(50);
  for (int round = 0; round < 3000; ++round) {
    Case c = random_case(r);
    Shape shape = {r.in(1, 2), r.in(1, 9), r.in(1, 11)}, sizes;
    bool scaled = r.in(0, 3) == 0;
    std::vector<double> x;
    for (int64_t i = shape[0] * shape[1] * shape[2]; i > 0; --i)
      x.push_back(static_cast<double>(r.in(-1000, 1000)) / 100);
    std::vector<double> want = x;
    for (size_t i = 1; i < 3; ++i) {
      double scale = static_cast<double>(r.in(6, 40)) / 16, in = static_cast<double>(shape[i]);
      int64_t out = std::max<int64_t>(static_cast<int64_t>(std::floor(in * scale)), 1);
      scale = scaled ? std::max(scale, 1 / in) : static_cast<double>(out) / in;
      if (scaled) c.scales.push_back(scale);
      sizes.push_back(out);
      // An antialiasing filter's weights depend on the scale. Positions by corners do not.
      want = along(c, want, shape[i], out, i == 1 ? shape[2] : 1, scale);
    }
    std::vector<double> got = resized(c, x, shape, sizes);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-9)
          << c.mode << " " << c.coordinates << " " << c.rounding << " " << c.antialias
          << c.exclude_outside << " of " << Value::of_ints(shape).text_form() << " to "
          << Value::of_ints(sizes).text_form() << Value::of_floats(c.scales).text_form();
  }
}

} // namespace
} // namespace tg
