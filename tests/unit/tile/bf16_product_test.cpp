// Tests products of bf16 on register tiles (AVX-512 BF16) against sums in float64
// of the same operands: odd sizes, tails, operands with gaps or transposed, batches,
// every schedule, results that the tile or its caller rounds. Operands and results
// are between inaccessible pages.
#include "runtime/convert.h"
#include "tests/unit/tile/product_cases.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tg::tile {
namespace {

using Halves = GuardedArray<uint16_t>;
constexpr uint16_t kUntouched = 0xc29a; // -77

double real(uint16_t half) { return static_cast<double>(bf16_to_float(half)); }

const TileKernels* tiles() {
  if (!processor_has(Isa::Avx512Bf16)) return nullptr;
  static const TileKernels& made = kernels(Isa::Avx512Bf16);
  return &made;
}

// Reason: other processors do not have vdpbf16ps, and no code exists for them.
#define TG_NEEDS_TILES()                                                                           \
  if (!tiles()) GTEST_SKIP() << "this processor has no products of bf16 (AVX-512 BF16)"

/// The operands of a case, and its result by definition.
struct Operands {
  Operands(Random& r, const Case& c)
      : c(c), x(c.x_size, c.at_end), w(c.w_size, c.at_end), y(c.y_size, c.at_end),
        other(c.residual_size, c.at_end),
        bias(c.shape.batch.back().bias + c.shape.columns, c.at_end) {
    const ProductShape& s = c.shape;
    for (Halves* one : {&x, &w, &other})
      for (uint16_t& v : *one) v = float_to_bf16(r.number());
    for (float& v : bias) v = r.number();
    std::fill(y.begin(), y.end(), kUntouched);
    if (c.in_place)
      for (const BatchStart& at : s.batch)
        for (int64_t i = 0; i < s.rows; ++i)
          for (int64_t j = 0; j < s.columns; ++j)
            y.data[at.y + i * s.y_row + j] = float_to_bf16(r.number());
    before.assign(y.begin(), y.end());
  }

  double expected(const BatchStart& at, int64_t row, int64_t column) const {
    const ProductShape& s = c.shape;
    double sum = c.bias ? static_cast<double>(bias.data[at.bias + column]) : 0;
    const uint16_t* residual = c.in_place ? before.data() : other.data;
    if (c.residual) sum += real(residual[at.residual + row * s.residual_row + column]);
    for (int64_t k = 0; k < s.depth; ++k)
      sum += real(x.data[at.x + row * s.x_row + k * s.x_depth]) *
             real(w.data[at.w + k * s.w_depth + column * s.w_column]);
    return c.relu && sum < 0 ? 0 : sum;
  }

  const Case& c;
  Halves x, w, y, other;
  Guarded bias;
  std::vector<uint16_t> before;
};

/// Compares the results with `factor` times the product. Returns the error, or "".
std::string compare(const Operands& o, double factor) {
  const ProductShape& s = o.c.shape;
  double slack = 1e-5 * (1 + std::sqrt(static_cast<double>(s.depth)));
  for (const BatchStart& at : s.batch)
    for (int64_t i = 0; i < s.rows; ++i)
      for (int64_t j = 0; j < (i + 1 < s.rows ? s.y_row : s.columns); ++j) {
        uint16_t got = o.y.data[at.y + i * s.y_row + j];
        if (j >= s.columns) {
          if (got != kUntouched) return "wrote between rows";
          continue;
        }
        double want = factor * o.expected(at, i, j);
        if (!(std::abs(real(got) - want) <= 0x1p-8 * std::abs(want) + slack))
          return "row " + std::to_string(i) + ", column " + std::to_string(j) + " is " +
                 std::to_string(real(got)) + ", not " + std::to_string(want);
      }
  return "";
}

/// Runs the case. Returns the error, or "".
std::string check(Random& r, const Case& c, const Schedule& schedule) {
  const ProductShape& s = c.shape;
  Product product(s, schedule, *tiles());
  Operands o(r, c);
  int64_t width = panel_columns(tiles()->isa());
  Guarded packed(packed_cells(s.depth, s.columns, tiles()->isa()), c.at_end);
  if (s.w_is_packed)
    pack_panels(packed.data, Bf16Matrix{o.w.data, s.depth, s.columns, s.w_depth, s.w_column}, width,
                0, panel_count(s.columns, width));
  Guarded scratch(std::max<int64_t>(1, product.scratch_elements()), c.at_end);
  std::fill(scratch.begin(), scratch.end(), std::nanf("")); // stale values must not be used
  ProductData data;
  data.x = o.x.data;
  data.w = s.w_is_packed ? static_cast<const void*>(packed.data) : o.w.data;
  data.bias = c.bias ? o.bias.data : nullptr;
  data.residual = !c.residual ? nullptr : c.in_place ? o.y.data : o.other.data;
  data.y = o.y.data;
  data.scratch = scratch.data;
  data.relu = c.relu;
  auto halve = [](const FinishedBlock& block) {
    for (int64_t i = 0; i < block.rows; ++i)
      for (int64_t j = 0; j < block.columns; ++j)
        block.rounded[i * block.rounded_row + j] = float_to_bf16(block.y[i * block.y_row + j] / 2);
  };
  bool finishes = r.coin();
  if (finishes) data.finish = halve;
  product.run(data, backwards);
  return compare(o, finishes ? 0.5 : 1);
}

std::string describe(const Case& c, const Schedule& schedule) {
  return std::to_string(c.shape.rows) + " x " + std::to_string(c.shape.depth) + " x " +
         std::to_string(c.shape.columns) + ", " + text(schedule, Isa::Avx512Bf16);
}

TEST(Bf16Product, RandomProductsByRandomSchedules) {
  TG_NEEDS_TILES();
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Random r(seed);
    Case c = random_case(r, 200);
    Schedule schedule = random_schedule(r, c.shape, Isa::Avx512Bf16);
    schedule.depth_parts = 1;
    ASSERT_EQ(check(r, c, schedule), "") << "seed " << seed << ": " << describe(c, schedule);
  }
}

TEST(Bf16Product, ProductsByTheirOwnSchedules) {
  TG_NEEDS_TILES();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random r(1000 + seed);
    Case c = random_case(r, 1500);
    auto threads = static_cast<int>(r.in(1, 4));
    Schedule schedule = default_schedule(c.shape, Isa::Avx512Bf16, threads, {4 << 10, 16 << 10});
    EXPECT_LE(schedule.parts(), threads);
    ASSERT_EQ(check(r, c, schedule), "") << "seed " << seed << ": " << describe(c, schedule);
  }
}

TEST(Bf16Product, ALongDepthHasNoParts) {
  ProductShape s;
  s.depth = s.x_row = 9000;
  s.columns = s.y_row = s.w_depth = 10;
  s.w_is_packed = true;
  EXPECT_EQ(default_schedule(s, Isa::Avx512Bf16, 4, caches()).depth_parts, 1);
}

/// Returns x * w + bias in every column, with x and w repeated `depth` times.
std::vector<uint16_t> same_in_all(uint16_t x, uint16_t w, const std::vector<float>& bias,
                                  int64_t depth, bool relu) {
  ProductShape s;
  s.depth = s.x_row = depth;
  s.columns = s.w_depth = s.y_row = static_cast<int64_t>(bias.size());
  Product product(s, default_schedule(s, Isa::Avx512Bf16, 1, caches()), *tiles());
  std::vector<uint16_t> xs(static_cast<size_t>(depth), x), ws(xs.size() * bias.size(), w),
      y(bias.size());
  std::vector<float> scratch(static_cast<size_t>(product.scratch_elements()));
  ProductData data;
  data.x = xs.data();
  data.w = ws.data();
  data.bias = bias.data();
  data.y = y.data();
  data.scratch = scratch.data();
  data.relu = relu;
  product.run(data);
  return y;
}

TEST(Bf16Product, HandlesNanAndInfinity) {
  TG_NEEDS_TILES();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float special : {std::nanf(""), kInfinity, -kInfinity, 3.0f, -0.0f})
    for (int64_t depth : {1, 2, 5}) // with depth 1, an infinity is not multiplied by zero
      for (size_t columns : {16u, 33u})
        for (bool relu : {false, true}) {
          float want = relu && special < 0 ? 0 : special * static_cast<float>(depth);
          for (uint16_t v : same_in_all(float_to_bf16(special), float_to_bf16(1),
                                        std::vector<float>(columns, 0.0f), depth, relu))
            if (std::isnan(want))
              EXPECT_TRUE(std::isnan(bf16_to_float(v)));
            else
              EXPECT_EQ(bf16_to_float(v), want) << depth << " deep";
        }
}

/// Rounds like float_to_bf16, except that denormal operands and results are zeros.
TEST(Bf16Product, RoundsToNearestEven) {
  TG_NEEDS_TILES();
  Random r(3);
  std::vector<float> bias;
  auto add = [&](uint32_t bits) { bias.push_back(std::bit_cast<float>(bits)); };
  for (int i = 0; i < 20000; ++i) {
    auto bits = static_cast<uint32_t>(r.in(0, UINT32_MAX));
    add(bits);
    add((bits & 0xffff0000u) | 0x8000u); // halfway
    add((bits & 0xffff0000u) | static_cast<uint32_t>(r.in(0x7fff, 0x8001)));
    add(bits & 0x807fffffu); // denormal
  }
  for (uint32_t bits : {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7f7fffffu, 0x7f800001u,
                        0x7fffffffu, 0x00800000u, 0x007fffffu, 0x00000001u})
    add(bits);
  std::vector<uint16_t> got = same_in_all(0, 0, bias, 3, false);
  for (size_t i = 0; i < bias.size(); ++i) {
    float want = bf16_to_float(float_to_bf16(bias[i]));
    if (std::fpclassify(bias[i]) == FP_SUBNORMAL) want = 0;
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(bf16_to_float(got[i]))) << i;
    else
      ASSERT_EQ(bf16_to_float(got[i]), want) << bias[i];
  }
}

TEST(Bf16Product, DenormalOperandsAreZeros) {
  TG_NEEDS_TILES();
  for (uint16_t tiny : {uint16_t{1}, uint16_t{0x807f}})
    for (uint16_t v : same_in_all(tiny, float_to_bf16(0x1p100f), {0, 1}, 4, false))
      EXPECT_TRUE(bf16_to_float(v) == 0 || bf16_to_float(v) == 1);
}

} // namespace
} // namespace tg::tile
