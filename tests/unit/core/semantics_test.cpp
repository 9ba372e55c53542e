// Tests each operator against values computed by hand or by an independent definition by index, the
// edge cases of the documented semantics, and the same code over a prime field.
#include "lang/core/semantics/impl.h"
#include "lang/core/shape_rules.h"
#include "lang/core/support/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T> struct Array {
  Shape shape;
  std::vector<T> values;
  bool absent = false;
};
using Doubles = Array<double>;
const Doubles kAbsent{{}, {}, true};

Value ints(std::initializer_list<int64_t> list) { return Value::of_ints(list); }
Value number(int64_t n) { return Value::of_int(n); }
Value word(const char* text) { return Value::of_enum(text); }
Value text(const char* text) { return Value::of_string(text); }

/// Infers the type of the operator as a graph does, and evaluates it.
template <class T>
Array<T> apply(OpKind op, std::vector<Value> attrs, std::initializer_list<Array<T>> operands) {
  Symbols symbols;
  llvm::SmallVector<ValueId, 4> ids;
  for (const Value& value : attrs) ids.push_back(symbols.value(value));
  llvm::SmallVector<TypeId, 4> types;
  llvm::SmallVector<ConstView<T>, 4> views;
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
  for (const Array<T>& x : operands) {
    types.push_back(x.absent ? symbols.none_type() : symbols.type(f32(x.shape)));
    views.push_back({x.absent ? nullptr : x.values.data(), x.shape});
    shapes.push_back(x.shape);
  }
  TypeId type;
  std::string why;
  EXPECT_TRUE(infer(symbols, op, ids, types, type, &why)) << why;
  llvm::SmallVector<const Value*, 4> normal;
  for (ValueId id : ids) normal.push_back(&symbols.value(id));
  Array<T> result{symbols.type(type).shape, {}};
  result.values.resize(static_cast<size_t>(symbols.type(type).elements()));
  std::vector<WideOf<T>> scratch(
      static_cast<size_t>(scratch_elements(op, normal, shapes, result.shape)));
  evaluate_op<T>(op, normal, views, {result.values.data(), result.shape}, scratch);
  return result;
}

Doubles random_array(const char* name, Shape shape) {
  Doubles x{std::move(shape), {}};
  RandomStream stream(7, name);
  for (int64_t i = 0; i < semantics::product(x.shape); ++i)
    x.values.push_back(stream.normal(static_cast<uint64_t>(i)));
  return x;
}

void expect_near(const Doubles& got, const std::vector<double>& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]))
      EXPECT_TRUE(std::isnan(got.values[i])) << "at " << i;
    else if (std::isinf(want[i]))
      EXPECT_EQ(got.values[i], want[i]) << "at " << i;
    else
      EXPECT_NEAR(got.values[i], want[i], tolerance * (1 + std::abs(want[i]))) << "at " << i;
  }
}

double at(const Doubles& x, std::initializer_list<int64_t> index) {
  int64_t offset = 0;
  size_t axis = 0;
  for (int64_t i : index) offset = offset * x.shape[axis++] + i;
  return x.values[static_cast<size_t>(offset)];
}

// --- element by element -----------------------------------------------------------------------

TEST(Semantics, ReluAndMaximumHandNanOn) {
  Doubles x{{5}, {-1, 0, 2, kNan, -kInf}}, y{{5}, {kNan, -1, 3, 0, -kInf}};
  expect_near(apply(OpKind::Relu, {}, {x}), {0, 0, 2, kNan, 0});
  expect_near(apply(OpKind::Maximum, {}, {x, y}), {kNan, 0, 3, kNan, -kInf});
  expect_near(apply(OpKind::Maximum, {}, {y, x}), {kNan, 0, 3, kNan, -kInf});
}

TEST(Semantics, FunctionsAtTheirEdges) {
  Doubles x{{4}, {-kInf, 0, 1, kInf}};
  expect_near(apply(OpKind::Sigmoid, {}, {x}), {0, 0.5, 0.7310585786300049, 1});
  expect_near(apply(OpKind::Tanh, {}, {x}), {-1, 0, 0.7615941559557649, 1});
  expect_near(apply(OpKind::Gelu, {}, {x}), {kNan, 0, 0.8413447460685429, kInf});
  expect_near(apply(OpKind::Exp, {}, {x}), {0, 1, 2.718281828459045, kInf});
  expect_near(apply(OpKind::Erf, {}, {x}), {-1, 0, 0.8427007929497149, 1});
  expect_near(apply(OpKind::Sqrt, {}, {Doubles{{3}, {-1, 4, kInf}}}), {kNan, 2, kInf});
}

TEST(Semantics, BinaryOperatorsBroadcastAsNumPyDoes) {
  Doubles column{{2, 1}, {10, 20}}, row{{3}, {1, 2, 4}}, scalar{{}, {2}};
  expect_near(apply(OpKind::Add, {}, {column, row}), {11, 12, 14, 21, 22, 24});
  expect_near(apply(OpKind::Sub, {}, {row, column}), {-9, -8, -6, -19, -18, -16});
  expect_near(apply(OpKind::Mul, {}, {scalar, row}), {2, 4, 8});
  expect_near(apply(OpKind::Div, {}, {row, scalar}), {0.5, 1, 2});
}

TEST(Semantics, BroadcastingAgreesWithIndexArithmetic) {
  Doubles x = random_array("x", {3, 1, 4, 1}), y = random_array("y", {2, 4, 5});
  Doubles z = apply(OpKind::Sub, {}, {x, y});
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t d = 0; d < 5; ++d)
          EXPECT_EQ(at(z, {a, b, c, d}), at(x, {a, 0, c, 0}) - at(y, {b, c, d}));
}

TEST(Semantics, FusedMapIsItsBody) {
  Doubles x = random_array("x", {7, 1, 300}), y = random_array("y", {300}),
          z = random_array("z", {2, 1});
  Doubles sum = apply(OpKind::Add, {}, {x, y});
  Doubles want = apply(OpKind::Tanh, {}, {apply(OpKind::Mul, {}, {sum, z})});
  Doubles got = apply(OpKind::FusedMap, {text("tanh(mul(add($0, $1), $2))")}, {x, y, z});
  EXPECT_EQ(got.shape, want.shape);
  EXPECT_EQ(got.values, want.values);
}

// --- products -----------------------------------------------------------------------------------

TEST(Semantics, MatmulByHand) {
  Doubles x{{2, 2}, {1, 2, 3, 4}}, y{{2, 3}, {1, 0, -1, 2, 1, 0}}, bias{{3}, {10, 20, 30}},
      residual{{2, 3}, {-100, 0, 0, 0, 0, -100}};
  expect_near(apply(OpKind::Matmul, {word("none")}, {x, y, kAbsent, kAbsent}),
              {5, 2, -1, 11, 4, -3});
  expect_near(apply(OpKind::Matmul, {word("relu")}, {x, y, bias, residual}),
              {0, 22, 29, 21, 24, 0});
}

TEST(Semantics, MatmulBroadcastsItsBatch) {
  Doubles x = random_array("x", {2, 1, 5, 3}), y = random_array("y", {4, 3, 6});
  Doubles z = apply(OpKind::Matmul, {word("none")}, {x, y, kAbsent, kAbsent});
  ASSERT_EQ(z.shape, (Shape{2, 4, 5, 6}));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t j = 0; j < 6; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < 3; ++l) sum += at(x, {a, 0, i, l}) * at(y, {b, l, j});
          EXPECT_NEAR(at(z, {a, b, i, j}), sum, 1e-12);
        }
}

struct Geometry {
  int64_t channels, groups, outputs, height, width, kh, kw;
  int64_t stride, dilation;
  Value pad;
};

/// Computes one element by index. x is padded with zeros.
double conv_at(const Doubles& x, const Doubles& w, const Geometry& g, int64_t top, int64_t left,
               int64_t n, int64_t o, int64_t oy, int64_t ox) {
  int64_t inputs = g.channels / g.groups, group = o / (g.outputs / g.groups);
  double sum = 0;
  for (int64_t c = 0; c < inputs; ++c)
    for (int64_t i = 0; i < g.kh; ++i)
      for (int64_t j = 0; j < g.kw; ++j) {
        int64_t y = oy * g.stride - top + i * g.dilation;
        int64_t column = ox * g.stride - left + j * g.dilation;
        if (y < 0 || y >= g.height || column < 0 || column >= g.width) continue;
        sum += at(x, {n, group * inputs + c, y, column}) * at(w, {o, c, i, j});
      }
  return sum;
}

TEST(Semantics, Conv2dAgreesWithIndexArithmetic) {
  const Geometry cases[] = {
      {3, 1, 8, 9, 7, 3, 3, 1, 1, word("same")},       {3, 1, 5, 9, 8, 3, 3, 2, 1, word("same")},
      {4, 2, 6, 8, 8, 2, 2, 2, 1, word("valid")},      {4, 4, 4, 7, 7, 3, 3, 1, 2, word("same")},
      {6, 3, 9, 5, 6, 1, 1, 1, 1, word("valid")},      {2, 1, 3, 5, 5, 4, 4, 1, 1, word("same")},
      {2, 1, 5, 6, 4, 3, 2, 1, 1, ints({2, 0, 1, 3})}, {3, 1, 4, 11, 10, 3, 1, 3, 1, number(1)},
      {2, 1, 2, 2, 2, 1, 1, 1, 1, number(3)},          {1, 1, 1, 3, 3, 5, 5, 1, 1, number(1)},
  };
  for (const Geometry& g : cases) {
    SCOPED_TRACE(g.pad.text_form());
    Doubles x = random_array("x", {2, g.channels, g.height, g.width});
    Doubles w = random_array("w", {g.outputs, g.channels / g.groups, g.kh, g.kw});
    Value stride = number(g.stride), dilation = number(g.dilation);
    Doubles out =
        apply(OpKind::Conv2d, {stride, g.pad, dilation, word("none")}, {x, w, kAbsent, kAbsent});
    int64_t top = 0, left = 0;
    if (g.pad.is(Value::Kind::Int)) top = left = g.pad.number;
    if (g.pad.is(Value::Kind::Ints)) top = g.pad.ints[0], left = g.pad.ints[1];
    if (g.pad.text == "same") { // the odd zero is the last
      int64_t extent_h = (g.kh - 1) * g.dilation + 1, extent_w = (g.kw - 1) * g.dilation + 1;
      int64_t rows = (g.height + g.stride - 1) / g.stride,
              columns = (g.width + g.stride - 1) / g.stride;
      top = std::max<int64_t>((rows - 1) * g.stride + extent_h - g.height, 0) / 2;
      left = std::max<int64_t>((columns - 1) * g.stride + extent_w - g.width, 0) / 2;
    }
    size_t i = 0;
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t o = 0; o < out.shape[1]; ++o)
        for (int64_t oy = 0; oy < out.shape[2]; ++oy)
          for (int64_t ox = 0; ox < out.shape[3]; ++ox)
            EXPECT_NEAR(out.values[i++], conv_at(x, w, g, top, left, n, o, oy, ox), 1e-11);
  }
}

/// A second definition: adds each element of x to all positions that it affects.
Doubles spread(const Doubles& x, const Doubles& w, Shape out, std::array<int64_t, 2> stride,
               std::array<int64_t, 2> before, std::array<int64_t, 2> dilation, int64_t groups) {
  Doubles y{out, std::vector<double>(static_cast<size_t>(semantics::product(out)))};
  int64_t each = x.shape[1] / groups;
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      for (int64_t r = 0; r < x.shape[2]; ++r)
        for (int64_t s = 0; s < x.shape[3]; ++s)
          for (int64_t o = 0; o < w.shape[1]; ++o)
            for (int64_t i = 0; i < w.shape[2]; ++i)
              for (int64_t j = 0; j < w.shape[3]; ++j) {
                int64_t to_row = r * stride[0] - before[0] + i * dilation[0];
                int64_t to_column = s * stride[1] - before[1] + j * dilation[1];
                if (to_row < 0 || to_row >= out[2] || to_column < 0 || to_column >= out[3])
                  continue;
                int64_t channel = c / each * w.shape[1] + o;
                int64_t place = ((n * out[1] + channel) * out[2] + to_row) * out[3] + to_column;
                y.values[static_cast<size_t>(place)] += at(x, {n, c, r, s}) * at(w, {c, o, i, j});
              }
  return y;
}

TEST(Semantics, TransposedConvolutionsSpreadTheirElements) {
  Doubles x = random_array("x", {2, 4, 3, 5});
  for (int64_t groups : {1, 2, 4})
    for (bool padded : {false, true}) {
      Doubles w = random_array("w", {4, 3, 2, 4});
      std::vector<Value> attrs = {ints({2, 3}), padded ? ints({1, 0, 0, 2}) : word("valid"),
                                  padded ? ints({1, 0}) : ints({0, 0}), ints({1, 2}),
                                  number(groups)};
      Doubles got = apply(OpKind::ConvTranspose2d, attrs, {x, w, kAbsent});
      int64_t rows = padded ? 6 : 6, columns = padded ? 17 : 19;
      ASSERT_EQ(got.shape, (Shape{2, 3 * groups, rows, columns}));
      expect_near(got, spread(x, w, got.shape, {2, 3}, {padded ? 1 : 0, 0}, {1, 2}, groups).values);
    }
}

TEST(Semantics, TransposedConvolutionsAreTheTransposeOfConvolutions) {
  // <conv2d(y, w), x> = <y, conv_transpose2d(x, w)> for all x and y.
  Doubles y = random_array("y", {1, 3, 7, 8}), w = random_array("w", {4, 3, 3, 2});
  std::vector<Value> attrs = {number(2), ints({1, 0, 1, 1}), number(1), word("none")};
  Doubles forward = apply(OpKind::Conv2d, attrs, {y, w, kAbsent, kAbsent});
  Doubles x = random_array("x", forward.shape);
  Doubles back =
      apply(OpKind::ConvTranspose2d,
            {number(2), ints({1, 0, 1, 1}), ints({0, 1}), number(1), number(1)}, {x, w, kAbsent});
  ASSERT_EQ(back.shape, y.shape);
  double a = 0, b = 0;
  for (size_t i = 0; i < x.values.size(); ++i) a += forward.values[i] * x.values[i];
  for (size_t i = 0; i < y.values.size(); ++i) b += back.values[i] * y.values[i];
  EXPECT_NEAR(a, b, 1e-11);
}

TEST(Semantics, FillsOutputsThatNoElementReachesWithTheBias) {
  Doubles x{{1, 1, 1, 2}, {2, 3}}, w{{1, 2, 1, 1}, {1, -1}}, bias{{2}, {0.5, 0}};
  expect_near(apply(OpKind::ConvTranspose2d,
                    {ints({1, 3}), word("valid"), ints({1, 0}), number(1), number(1)},
                    {x, w, bias}),
              {2.5, 0.5, 0.5, 3.5, 0.5, 0.5, 0.5, 0.5, -2, 0, 0, -3, 0, 0, 0, 0});
  Doubles same =
      apply(OpKind::ConvTranspose2d, {number(2), word("same"), number(0), number(1), number(1)},
            {Doubles{{1, 1, 1, 2}, {1, 2}}, Doubles{{1, 1, 2, 3}, {1, 10, 100, 0, 0, 0}}, kAbsent});
  expect_near(same, {1, 10, 102, 20, 0, 0, 0, 0}); // 5 columns; the odd one is the last
}

TEST(Semantics, WindowsAgreeWithIndexArithmetic) {
  Doubles x = random_array("windows", {2, 11, 3});
  for (int64_t size : {1, 2, 4})
    for (int64_t step : {1, 2, 5})
      for (int64_t dilation : {1, 3}) {
        Doubles y = apply<double>(OpKind::Windows,
                                  {number(1), number(size), number(step), number(dilation)}, {x});
        int64_t count = (11 - dilation * (size - 1) - 1) / step + 1;
        ASSERT_EQ(y.shape, (Shape{2, count, size, 3}));
        std::vector<double> want;
        for (int64_t o = 0; o < 2; ++o)
          for (int64_t i = 0; i < count; ++i)
            for (int64_t j = 0; j < size; ++j)
              for (int64_t k = 0; k < 3; ++k)
                want.push_back(
                    x.values[static_cast<size_t>((o * 11 + i * step + j * dilation) * 3 + k)]);
        EXPECT_EQ(y.values, want) << size << " " << step << " " << dilation;
      }
}

TEST(Semantics, ConvolutionsOfVolumes) {
  Doubles x = random_array("x", {2, 4, 4, 5, 3}), w = random_array("w", {6, 2, 2, 3, 1}),
          bias = random_array("b", {6});
  Doubles got = apply(OpKind::Conv3d, {ints({1, 2, 1}), ints({1, 0, 0, 0, 1, 2}), ints({2, 1, 1})},
                      {x, w, bias});
  ASSERT_EQ(got.shape, (Shape{2, 6, 3, 2, 5}));
  size_t next = 0;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 6; ++o)
      for (int64_t z = 0; z < 3; ++z)
        for (int64_t r = 0; r < 2; ++r)
          for (int64_t s = 0; s < 5; ++s) {
            double sum = bias.values[static_cast<size_t>(o)];
            for (int64_t c = 0; c < 2; ++c)
              for (int64_t k = 0; k < 2; ++k)
                for (int64_t i = 0; i < 3; ++i) {
                  int64_t depth = z - 1 + 2 * k, row = 2 * r + i;
                  bool inside = depth >= 0 && depth < 4 && row < 5 && s < 3;
                  if (inside)
                    sum += at(x, {n, o / 3 * 2 + c, depth, row, s}) * at(w, {o, c, k, i, 0});
                }
            EXPECT_NEAR(got.values[next++], sum, 1e-11);
          }
}

TEST(Semantics, ConvEpilogueAddsBiasByChannelThenResidualThenActs) {
  Doubles x{{1, 1, 1, 2}, {1, 2}}, w{{2, 1, 1, 1}, {1, -1}}, bias{{2}, {0.5, 0}},
      residual{{1, 2, 1, 2}, {-5, 1, 3, 1}};
  expect_near(apply(OpKind::Conv2d, {number(1), word("valid"), number(1), word("relu")},
                    {x, w, bias, residual}),
              {0, 3.5, 2, 0});
}

TEST(Semantics, SumsOfFloatsAreTakenInDouble) {
  Array<float> x{{1, 3}, {1e8f, 1, -1e8f}}, y{{3, 1}, {1, 1, 1}}, none{{}, {}, true};
  EXPECT_EQ(apply(OpKind::Matmul, {word("none")}, {x, y, none, none}).values[0], 1.0f);
  EXPECT_EQ(apply(OpKind::ReduceSum, {ints({1}), Value::of_bool(false)}, {x}).values[0], 1.0f);
}

struct Filtering {
  int64_t images, channels, groups, outputs, height, width;
  Value pad;
  const char* act;
  bool fused; // bias and residual
};
const Filtering kFilterings[] = {
    {1, 3, 1, 5, 8, 8, word("same"), "none", false},
    {2, 4, 1, 6, 7, 9, word("valid"), "relu", true},
    {1, 8, 4, 12, 5, 11, word("same"), "tanh", true},
    {3, 6, 6, 6, 3, 3, word("valid"), "none", true},
    {1, 2, 1, 4, 1, 1, word("same"), "sigmoid", false},
    {1, 5, 1, 1, 6, 5, ints({2, 0, 1, 3}), "gelu", true},
    {2, 2, 2, 4, 4, 4, ints({5, 5, 5, 5}), "none", false}, // tiles entirely in the padding
    {1, 3, 1, 2, 29, 31, number(1), "none", false},        // more tiles than a block has
};

template <class T>
std::pair<Array<T>, Array<T>> both_ways(const Filtering& c, int64_t tile, const Array<T>& x,
                                        const Array<T>& w, const Array<T>& b, const Array<T>& r) {
  Value act = word(c.act);
  Array<T> direct = apply(OpKind::Conv2d, {number(1), c.pad, number(1), act}, {x, w, b, r});
  Array<T> u = apply(OpKind::WinogradWeight, {number(tile)}, {w});
  EXPECT_EQ(u.shape, (Shape{(tile + 2) * (tile + 2), c.outputs, c.channels / c.groups}));
  return {direct, apply(OpKind::WinogradConv2d, {c.pad, act}, {x, u, b, r})};
}

TEST(Semantics, MinimalFilteringIsTheConvolution) {
  for (const Filtering& c : kFilterings)
    for (int64_t tile : {2, 4}) {
      SCOPED_TRACE(c.pad.text_form() + ", tile " + std::to_string(tile));
      Doubles x = random_array("x", {c.images, c.channels, c.height, c.width});
      Doubles w = random_array("w", {c.outputs, c.channels / c.groups, 3, 3});
      Doubles bias = kAbsent, residual = kAbsent;
      if (c.fused) {
        bias = random_array("b", {c.outputs});
        residual = random_array("r", both_ways(c, tile, x, w, kAbsent, kAbsent).first.shape);
      }
      auto [direct, filtered] = both_ways(c, tile, x, w, bias, residual);
      ASSERT_EQ(filtered.shape, direct.shape);
      expect_near(filtered, direct.values);
    }
}

// A kernel of ones and a constant image: 9 wherever a window is inside, for each tile size.
TEST(Semantics, MinimalFilteringByHand) {
  Doubles x{{1, 1, 6, 6}, std::vector<double>(36, 1)}, w{{1, 1, 3, 3}, std::vector<double>(9, 1)};
  for (int64_t tile : {2, 4}) {
    Doubles u = apply(OpKind::WinogradWeight, {number(tile)}, {w});
    // For the point 0: g0^2 over the products of the other points' squares, 5/8 and 3/2.
    EXPECT_NEAR(u.values[0], tile == 2 ? 1 : 65536.0 / 50625, 1e-15);
    EXPECT_NEAR(u.values.back(), 1, 1e-15); // the point at infinity
    expect_near(
        apply(OpKind::WinogradConv2d, {word("valid"), word("none")}, {x, u, kAbsent, kAbsent}),
        std::vector<double>(16, 9));
  }
}

// --- windows, rows, reductions ------------------------------------------------------------------

TEST(Semantics, PoolingLooksOnlyInside) {
  Doubles x{{1, 1, 2, 2}, {-1, -2, -3, -4}};
  auto pool = [&](OpKind op, bool count) {
    std::vector<Value> attrs = {number(2), number(1), number(1)};
    if (op == OpKind::AvgPool2d) attrs.push_back(Value::of_bool(count));
    return apply(op, attrs, {x});
  };
  expect_near(pool(OpKind::MaxPool2d, false), {-1, -1, -2, -1, -1, -2, -3, -3, -4});
  expect_near(pool(OpKind::AvgPool2d, false), {-1, -1.5, -2, -2, -2.5, -3, -3, -3.5, -4});
  expect_near(pool(OpKind::AvgPool2d, true),
              {-0.25, -0.75, -0.5, -1, -2.5, -1.5, -0.75, -1.75, -1});
}

TEST(Semantics, SamePoolingPutsTheOddZeroBehind) {
  Doubles x{{1, 1, 1, 3}, {1, 2, 4}};
  expect_near(
      apply(OpKind::AvgPool2d, {ints({1, 2}), number(1), word("same"), Value::of_bool(true)}, {x}),
      {1.5, 3, 2});
}

TEST(Semantics, AMaximumWithNanIsNan) {
  Doubles x{{1, 1, 1, 4}, {1, kNan, 3, -kInf}};
  expect_near(apply(OpKind::MaxPool2d, {ints({1, 2}), number(1), word("valid")}, {x}),
              {kNan, kNan, 3});
  expect_near(apply(OpKind::ReduceMax, {ints({3}), Value::of_bool(false)}, {x}), {kNan});
}

TEST(Semantics, SoftmaxAlongAnyAxis) {
  Doubles x{{2, 2}, {0, 1000, std::log(3.0), 1000}};
  expect_near(apply(OpKind::Softmax, {number(0)}, {x}), {0.25, 0.5, 0.75, 0.5});
  expect_near(apply(OpKind::Softmax, {number(-1)}, {Doubles{{3}, {kInf, 0, 0}}}),
              {kNan, kNan, kNan});
}

TEST(Semantics, Norms) {
  Doubles x{{1, 2, 2}, {1, 3, 5, 5}}, scale{{2}, {2, 1}}, bias{{2}, {10, 0}}, mean{{2}, {2, 4}},
      var{{2}, {3, 0}};
  expect_near(apply(OpKind::BatchNorm, {Value::of_float(1)}, {x, scale, bias, mean, var}),
              {9, 11, 1, 1});
  expect_near(
      apply(OpKind::LayerNorm, {Value::of_float(0)}, {Doubles{{1, 2}, {1, 3}}, scale, bias}),
      {8, 1});
}

TEST(Semantics, ReductionsOverSomeAxes) {
  Doubles x = random_array("x", {2, 3, 4, 5});
  Doubles got = apply(OpKind::ReduceMean, {ints({-1, 1}), Value::of_bool(true)}, {x});
  ASSERT_EQ(got.shape, (Shape{2, 1, 4, 1}));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t c = 0; c < 4; ++c) {
      double sum = 0;
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t d = 0; d < 5; ++d) sum += at(x, {a, b, c, d});
      EXPECT_NEAR(at(got, {a, 0, c, 0}), sum / 15, 1e-12);
    }
  expect_near(
      apply(OpKind::ReduceSum, {ints({0}), Value::of_bool(false)}, {Doubles{{2, 2}, {1, 2, 3, 4}}}),
      {4, 6});
}

TEST(Semantics, SmallestAndProducts) {
  Doubles x{{2, 3}, {3, -1, 2, 0.5, kNan, 4}};
  expect_near(apply(OpKind::ReduceMin, {ints({1}), Value::of_bool(false)}, {x}), {-1, kNan});
  expect_near(apply(OpKind::ReduceProd, {ints({1}), Value::of_bool(true)}, {x}), {-6, kNan});
  expect_near(apply(OpKind::ReduceMin, {ints({0}), Value::of_bool(false)}, {x}), {0.5, kNan, 2});
  Doubles far{{4}, {kInf, 0, -kInf, 1}};
  expect_near(apply(OpKind::ReduceMin, {ints({0}), Value::of_bool(false)}, {far}), {-kInf});
  expect_near(apply(OpKind::ReduceProd, {ints({0}), Value::of_bool(false)}, {far}), {kNan});
  Array<float> wide{{4}, {1e30f, 1e30f, 1e-30f, 1e-30f}}; // rounded once
  EXPECT_NEAR(apply(OpKind::ReduceProd, {ints({0}), Value::of_bool(false)}, {wide}).values[0], 1,
              1e-6);
}

TEST(Semantics, TheFirstInOrder) {
  Doubles x{{7}, {1, kNan, 3, -kInf, 3, kInf, -0.0}};
  auto top = [&](int64_t k, bool largest) {
    return apply(OpKind::TopK, {number(0), number(k), Value::of_bool(largest)}, {x});
  };
  expect_near(top(7, true), {1, 5, 2, 4, 0, 6, 3});
  expect_near(top(7, false), {3, 6, 0, 2, 4, 5, 1});
  expect_near(top(3, true), {1, 5, 2});
  Doubles rows{{2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5}};
  expect_near(apply(OpKind::TopK, {number(1), number(1), Value::of_bool(true)}, {rows}),
              {1, 1, 0, 0});
}

TEST(Semantics, BoxesThatOverlapABetterOneGo) {
  // Two boxes that overlap by 0.6 / 1, one apart, one without an area. The corners
  // are in any order.
  Doubles boxes{{1, 4, 4}, {0, 0, 1, 1, 1, 1, 0, 0.4, 5, 5, 6, 6, 0, 0, 0, 1}};
  Doubles scores{{1, 2, 4}, {0.9, 0.8, 0.7, 0.6, 0.1, 0.9, kNan, 0.9}};
  auto chosen = [&](int64_t most, double overlap, double least) {
    return apply(
        OpKind::NonMaxSuppression,
        {number(most), Value::of_float(overlap), Value::of_float(least), Value::of_bool(false)},
        {boxes, scores});
  };
  expect_near(chosen(2, 0.3, 0), {0, 0, 0, 0, 0, 2, 0, 1, 1, 0, 1, 3});
  expect_near(chosen(4, 0.7, 0.65),
              {0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 1, 1, 0, 1, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1});
  Doubles centred{{1, 2, 4}, {0, 0, 2, 2, 0.9, 0, 2, 2}}, both{{1, 1, 2}, {1, 2}};
  expect_near(apply(OpKind::NonMaxSuppression,
                    {number(2), Value::of_float(0.3), Value::of_float(-kInf), Value::of_bool(true)},
                    {centred, both}),
              {0, 0, 1, -1, -1, -1}); // overlap of 2.2 / 5.8
}

// --- layout --------------------------------------------------------------------------------------

TEST(Semantics, PiecesAndLayout) {
  Doubles a{{2, 2}, {1, 2, 3, 4}}, b{{2, 1}, {5, 6}};
  expect_near(apply(OpKind::Concat, {number(1)}, {a, b}), {1, 2, 5, 3, 4, 6});
  expect_near(apply(OpKind::Slice, {number(1), number(1), number(2)}, {a}), {2, 4});
  expect_near(apply(OpKind::Slice, {number(0), number(-1), number(2)}, {a}), {3, 4});
  expect_near(apply(OpKind::Transpose, {ints({1, 0})}, {a}), {1, 3, 2, 4});
  expect_near(apply(OpKind::Reshape, {ints({-1})}, {a}), {1, 2, 3, 4});
  expect_near(apply(OpKind::Pad, {ints({0, 1}), ints({1, 0}), Value::of_float(9)}, {a}),
              {9, 1, 2, 9, 3, 4, 9, 9, 9});
}

TEST(Semantics, BroadcastsRepeat) {
  Doubles x{{2, 1}, {1, 2}};
  expect_near(apply(OpKind::Broadcast, {ints({2, 2, 3})}, {x}),
              {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  expect_near(apply(OpKind::Broadcast, {ints({2})}, {Doubles{{}, {7}}}), {7, 7});
}

/// Indices are doubles, too.
Doubles scattered(const char* reduce, std::initializer_list<double> indices, Doubles updates) {
  Doubles x{{2, 3}, {1, 2, 3, 4, 5, 6}}, at{{static_cast<int64_t>(indices.size())}, indices};
  llvm::SmallVector<Value, 2> values = {number(1), text(reduce)};
  llvm::SmallVector<const Value*, 2> attrs = {&values[0], &values[1]};
  Doubles result{x.shape, std::vector<double>(6)};
  std::vector<double> scratch(6);
  ConstView<double> views[] = {{x.values.data(), x.shape},
                               {at.values.data(), at.shape},
                               {updates.values.data(), updates.shape}};
  evaluate_op<double>(OpKind::Scatter, attrs, views, {result.values.data(), result.shape}, scratch);
  return result;
}

TEST(Semantics, ScatterTakesUpdatesInTheirOrder) {
  Doubles updates{{2, 4}, {10, 20, 30, 40, 50, 60, 70, 80}};
  auto by = [&](const char* reduce) { return scattered(reduce, {2, 0, 2, 3}, updates); };
  expect_near(by("none"), {20, 2, 30, 60, 5, 70}); // the last update; 3 is out of range
  expect_near(by("add"), {21, 2, 43, 64, 5, 126});
  expect_near(by("mul"), {20, 2, 900, 240, 5, 21000});
  expect_near(by("max"), {20, 2, 30, 60, 5, 70});
  expect_near(by("min"), {1, 2, 3, 4, 5, 6});
  expect_near(scattered("none", {-1, kNan, 1}, {{2, 3}, {9, 9, 7, 9, 9, 8}}), {1, 7, 3, 4, 8, 6});
  expect_near(scattered("max", {1, 1}, {{2, 2}, {kNan, 9, 1, kNan}}), {1, kNan, 3, 4, kNan, 6});
}

TEST(Semantics, TransposeAgreesWithIndexArithmetic) {
  Doubles x = random_array("x", {2, 3, 4, 5});
  Doubles y = apply(OpKind::Transpose, {ints({2, 0, 3, 1})}, {x});
  ASSERT_EQ(y.shape, (Shape{4, 2, 5, 3}));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t d = 0; d < 5; ++d) EXPECT_EQ(at(y, {c, a, d, b}), at(x, {a, b, c, d}));
}

TEST(Semantics, AnEnlargedKernelGivesTheSameSameConvolution) {
  Doubles x = random_array("x", {1, 3, 6, 5}), w = random_array("w", {4, 3, 1, 3});
  std::vector<Value> attrs = {number(1), word("same"), number(1), word("none")};
  Doubles small = apply(OpKind::Conv2d, attrs, {x, w, kAbsent, kAbsent});
  Doubles large = apply(OpKind::Conv2d, attrs,
                        {x, apply(OpKind::Enlarge, {ints({3, 5})}, {w}), kAbsent, kAbsent});
  expect_near(large, small.values);
}

TEST(Semantics, MergedGroupsGiveTheSameConvolution) {
  Doubles x = random_array("x", {1, 8, 4, 4}), w = random_array("w", {12, 2, 3, 3});
  std::vector<Value> attrs = {number(1), word("same"), number(1), word("none")};
  Doubles grouped = apply(OpKind::Conv2d, attrs, {x, w, kAbsent, kAbsent});
  for (int64_t count : {2, 4}) {
    Doubles merged = apply(OpKind::MergeGconv, {number(count), number(4)}, {w});
    EXPECT_EQ(merged.shape[1], 2 * count);
    expect_near(apply(OpKind::Conv2d, attrs, {x, merged, kAbsent, kAbsent}), grouped.values);
  }
}

} // namespace

// --- over a field --------------------------------------------------------------------------------

__extension__ using Product = unsigned __int128;

/// The integers modulo 2^61 - 1, which have no order, no NaN and no conversion from double.
struct Residue {
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  uint64_t n = 0;
  bool operator==(const Residue&) const = default;
};
Residue residue(Product n) { return {static_cast<uint64_t>(n % Residue::kPrime)}; }
Residue operator+(Residue a, Residue b) { return residue(Product{a.n} + b.n); }
Residue operator-(Residue a) { return residue(Residue::kPrime - a.n); }
Residue operator-(Residue a, Residue b) { return a + -b; }
Residue operator*(Residue a, Residue b) { return residue(Product{a.n} * b.n); }
Residue& operator+=(Residue& a, Residue b) { return a = a + b; }
Residue operator/(Residue a, Residue b) { // b^(p - 2)
  for (uint64_t e = Residue::kPrime - 2; e != 0; e >>= 1, b = b * b)
    if (e & 1) a = a * b;
  return a;
}

template <> struct ScalarTraits<Residue> { using Wide = Residue; };
template <> struct Math<Residue> {
  static Residue literal(double value) { return {static_cast<uint64_t>(value)}; }
  static Residue integer(int64_t value) { return {static_cast<uint64_t>(value)}; }
  static Residue unary(OpKind op, Residue x) { // a pseudo-random function
    return {RandomStream(static_cast<uint64_t>(op), "unary").bits(x.n) % Residue::kPrime};
  }
  static Residue maximum(Residue x, Residue y) { return max_of({x, y}); }
  static Residue binary(OpKind op, Residue x, Residue y) { return unary(op, x * Residue{3} + y); }
  static Residue select(Residue condition, Residue x, Residue y) {
    return condition * x + (Residue{1} - condition) * y;
  }
  static Residue cast(DType, Residue x) { return x; }
  static int64_t index(Residue x, int64_t size) {
    return static_cast<int64_t>(x.n % static_cast<uint64_t>(size));
  }
  static Residue missing() { return {}; }
  static int64_t argmax(llvm::ArrayRef<Residue> values) {
    return static_cast<int64_t>(max_of(values).n % values.size());
  }
  static Residue max_of(llvm::ArrayRef<Residue> values) { // symmetric
    Residue sum, product{1};
    for (Residue x : values) sum += x, product = product * (x + Residue{12345});
    return unary(OpKind::Maximum, sum * Residue{3} + product);
  }
  static void softmax(llvm::MutableArrayRef<Residue> row) {
    Residue key = max_of(row);
    for (Residue& x : row) x = unary(OpKind::Softmax, x + key);
  }
};

namespace {

using Residues = Array<Residue>;

Residues residues(const char* name, Shape shape) {
  Residues x{std::move(shape), {}};
  RandomStream stream(3, name);
  for (int64_t i = 0; i < semantics::product(x.shape); ++i)
    x.values.push_back({stream.bits(static_cast<uint64_t>(i)) % Residue::kPrime});
  return x;
}

TEST(SemanticsOverAField, RationalIdentitiesAreExact) {
  Residues x = residues("x", {2, 4, 5, 5}), w = residues("w", {6, 2, 3, 3}), none{{}, {}, true};
  Residues v = residues("v", {6, 2, 3, 3});
  std::vector<Value> attrs = {number(2), word("same"), number(1), word("none")};
  Residues sum = apply(OpKind::Conv2d, attrs, {x, apply(OpKind::Add, {}, {w, v}), none, none});
  Residues left = apply(OpKind::Conv2d, attrs, {x, w, none, none});
  Residues right = apply(OpKind::Conv2d, attrs, {x, v, none, none});
  EXPECT_EQ(sum.values, apply(OpKind::Add, {}, {left, right}).values);
  EXPECT_EQ(sum.values, apply(OpKind::Conv2d, attrs, {x, v, none, left}).values);
}

TEST(SemanticsOverAField, MinimalFilteringIsTheConvolution) {
  for (const Filtering& c : kFilterings)
    for (int64_t tile : {2, 4}) {
      SCOPED_TRACE(c.pad.text_form() + ", tile " + std::to_string(tile));
      Residues x = residues("x", {c.images, c.channels, c.height, c.width}), none{{}, {}, true};
      Residues w = residues("w", {c.outputs, c.channels / c.groups, 3, 3});
      Residues bias = c.fused ? residues("b", {c.outputs}) : none;
      auto [direct, filtered] = both_ways(c, tile, x, w, bias, none);
      EXPECT_EQ(filtered.values, direct.values);
    }
}

TEST(SemanticsOverAField, AveragePoolingIsAMeanAndAQuotientIsAnInverse) {
  Residues x = residues("x", {1, 2, 4, 4});
  Residues mean = apply(OpKind::ReduceMean, {ints({2, 3}), Value::of_bool(true)}, {x});
  EXPECT_EQ(
      apply(OpKind::AvgPool2d, {number(4), number(1), word("valid"), Value::of_bool(false)}, {x})
          .values,
      mean.values);
  Residues one = apply(OpKind::Div, {}, {x, x});
  EXPECT_EQ(one.values, std::vector<Residue>(32, Residue{1}));
}

TEST(SemanticsOverAField, BatchNormFoldsIntoScaleAndShift) {
  Residues x = residues("x", {2, 3, 4}), scale = residues("s", {3}), bias = residues("b", {3}),
           mean = residues("m", {3}), var = residues("v", {3}), eps{{1}, {Residue{1}}};
  Residues got = apply(OpKind::BatchNorm, {Value::of_float(1)}, {x, scale, bias, mean, var});
  Residues root = apply(OpKind::Sqrt, {}, {apply(OpKind::Add, {}, {var, eps})});
  Residues factor = apply(OpKind::Div, {}, {scale, root});
  Residues shift = apply(OpKind::Sub, {}, {bias, apply(OpKind::Mul, {}, {mean, factor})});
  auto column = [&](const Residues& v) { return apply(OpKind::Reshape, {ints({3, 1})}, {v}); };
  Residues want =
      apply(OpKind::Add, {}, {apply(OpKind::Mul, {}, {x, column(factor)}), column(shift)});
  EXPECT_EQ(got.values, want.values);
}

TEST(SemanticsOverAField, OrderedOperatorsGoThroughTheScalar) {
  Residues x = residues("x", {1, 1, 2, 2});
  Residues flipped{{1, 1, 2, 2}, {x.values[3], x.values[2], x.values[1], x.values[0]}};
  std::vector<Value> pool = {number(2), number(1), word("valid")};
  EXPECT_EQ(apply(OpKind::MaxPool2d, pool, {x}).values,
            apply(OpKind::MaxPool2d, pool, {flipped}).values);
  EXPECT_EQ(apply(OpKind::Relu, {}, {x}).values,
            apply(OpKind::FusedMap, {text("relu($0)")}, {x}).values);
}

} // namespace
} // namespace tg
