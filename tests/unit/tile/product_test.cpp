// Tests products on register tiles, for each instruction set of this processor,
// against sums in float64: odd sizes, tails, operands with gaps or transposed, batches,
// every schedule. Operands and results are between inaccessible pages, directly after one
// or before the other, so that a vector access beyond them ends the test.
#include "tests/unit/tile/product_cases.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <fstream>

namespace tg::tile {
namespace {

constexpr float kUntouched = -77;

double expected(const Case& c, const float* x, const float* w, const float* bias,
                const float* residual, const BatchStart& at, int64_t row, int64_t column) {
  const ProductShape& s = c.shape;
  double sum = bias ? static_cast<double>(bias[at.bias + column]) : 0;
  if (residual) sum += static_cast<double>(residual[at.residual + row * s.residual_row + column]);
  for (int64_t k = 0; k < s.depth; ++k)
    sum += static_cast<double>(x[at.x + row * s.x_row + k * s.x_depth]) *
           static_cast<double>(w[at.w + k * s.w_depth + column * s.w_column]);
  return c.relu && sum < 0 ? 0 : sum;
}

/// Runs the case. Returns the error, or "".
std::string check(Random& r, const Case& c, const Schedule& schedule, const TileKernels& tiles) {
  const ProductShape& s = c.shape;
  Product product(s, schedule, tiles);
  Guarded x(c.x_size, c.at_end), w(c.w_size, c.at_end), y(c.y_size, c.at_end);
  Guarded bias(s.batch.back().bias + s.columns, c.at_end), other(c.residual_size, c.at_end);
  for (Guarded* g : {&x, &w, &bias, &other})
    for (float& v : *g) v = r.number();
  std::fill(y.begin(), y.end(), kUntouched);
  std::vector<float> before;
  if (c.in_place)
    for (const BatchStart& at : s.batch)
      for (int64_t i = 0; i < s.rows; ++i)
        for (int64_t j = 0; j < s.columns; ++j) y.data[at.y + i * s.y_row + j] = r.number();
  before.assign(y.begin(), y.end());
  int64_t width = panel_columns(tiles.isa());
  Guarded packed(packed_cells(s.depth, s.columns, tiles.isa()), c.at_end);
  if (s.w_is_packed)
    pack_panels(packed.data, {w.data, s.depth, s.columns, s.w_depth, s.w_column}, width, 0,
                panel_count(s.columns, width));
  Guarded scratch(std::max<int64_t>(1, product.scratch_elements()), c.at_end);
  std::fill(scratch.begin(), scratch.end(), std::nanf("")); // stale values must not be used
  ProductData data;
  data.x = x.data;
  data.w = s.w_is_packed ? packed.data : w.data;
  data.bias = c.bias ? bias.data : nullptr;
  data.residual = !c.residual ? nullptr : c.in_place ? y.data : other.data;
  data.y = y.data;
  data.scratch = scratch.data;
  data.relu = c.relu;
  int64_t finished = 0;
  auto count = [&](const FinishedBlock& block) { finished += block.rows * block.columns; };
  data.finish = count;
  product.run(data, backwards);
  if (finished != s.rows * s.columns * static_cast<int64_t>(s.batch.size()))
    return "finished " + std::to_string(finished);
  const float* residual = !c.residual ? nullptr : c.in_place ? before.data() : other.data;
  for (const BatchStart& at : s.batch)
    for (int64_t i = 0; i < s.rows; ++i)
      for (int64_t j = 0; j < (i + 1 < s.rows ? s.y_row : s.columns); ++j) {
        float got = y.data[at.y + i * s.y_row + j];
        if (j >= s.columns) {
          if (got != kUntouched) return "wrote between rows";
          continue;
        }
        double want = expected(c, x.data, w.data, data.bias, residual, at, i, j);
        if (!(std::abs(got - want) <= 1e-5 * (1 + std::sqrt(static_cast<double>(s.depth)))))
          return "row " + std::to_string(i) + ", column " + std::to_string(j) + " is " +
                 std::to_string(got) + ", not " + std::to_string(want);
      }
  return "";
}

TEST(TileProduct, InstructionSetsOfThisProcessor) {
  std::vector<Isa> tested = instruction_sets();
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    std::printf("%s: %s\n", isa_name(isa),
                llvm::is_contained(tested, isa) ? "tested here" : "not tested here");
}

TEST(TileProduct, RandomProductsByRandomSchedules) {
  for (Isa isa : instruction_sets()) {
    const TileKernels& tiles = kernels(isa);
    for (uint64_t seed = 0; seed < 1500; ++seed) {
      Random r(seed);
      Case c = random_case(r, 200);
      Schedule schedule = random_schedule(r, c.shape, isa);
      std::string wrong = check(r, c, schedule, tiles);
      ASSERT_EQ(wrong, "") << "seed " << seed << ": " << c.shape.rows << " x " << c.shape.depth
                           << " x " << c.shape.columns << ", " << text(schedule, isa);
    }
  }
}

/// With default schedules. The sizes need several depth blocks, or several of the other blocks.
TEST(TileProduct, ProductsByTheirOwnSchedules) {
  for (Isa isa : instruction_sets()) {
    const TileKernels& tiles = kernels(isa);
    for (uint64_t seed = 0; seed < 60; ++seed) {
      Random r(1000 + seed);
      Case c = random_case(r, 1500);
      auto threads = static_cast<int>(r.in(1, 4));
      Schedule schedule = default_schedule(c.shape, isa, threads, {4 << 10, 16 << 10});
      EXPECT_LE(schedule.parts() / schedule.depth_parts, threads);
      std::string wrong = check(r, c, schedule, tiles);
      ASSERT_EQ(wrong, "") << "seed " << seed << ": " << c.shape.rows << " x " << c.shape.depth
                           << " x " << c.shape.columns << ", " << text(schedule, isa);
    }
  }
}

/// Returns one row of x times a packed w.
std::vector<float> row_times(const std::vector<float>& x, const std::vector<float>& w,
                             const TileKernels& tiles, bool relu) {
  ProductShape s;
  s.depth = static_cast<int64_t>(x.size());
  s.columns = static_cast<int64_t>(w.size() / x.size());
  s.x_row = s.depth;
  s.w_depth = s.y_row = s.columns;
  Product product(s, default_schedule(s, tiles.isa(), 1, caches()), tiles);
  std::vector<float> y(static_cast<size_t>(s.columns)),
      scratch(static_cast<size_t>(product.scratch_elements()));
  ProductData data;
  data.x = x.data();
  data.w = w.data();
  data.y = y.data();
  data.scratch = scratch.data();
  data.relu = relu;
  product.run(data);
  return y;
}

TEST(TileProduct, NanAndTinyNumbers) {
  for (Isa isa : instruction_sets()) {
    const TileKernels& tiles = kernels(isa);
    for (float special : {std::nanf(""), INFINITY, -INFINITY, 1e-42f, -1e-42f, 1e-45f, -0.0f})
      for (bool relu : {false, true})
        for (size_t columns : {16u, 33u}) {
          std::vector<float> w(3 * columns, 1.0f);
          std::vector<float> y = row_times({special, 0, 0}, w, tiles, relu);
          float want = relu && special < 0 ? 0 : special;
          for (float v : y)
            if (std::isnan(want))
              EXPECT_TRUE(std::isnan(v));
            else
              EXPECT_EQ(v, want);
        }
  }
}

/// A NaN that passes through raises no invalid-operand exception, so that no second run is needed.
TEST(TileProduct, ReluOfNaNRaisesNoFlag) {
  for (Isa isa : instruction_sets()) {
    const TileKernels& tiles = kernels(isa);
    std::feclearexcept(FE_ALL_EXCEPT);
    row_times({std::nanf(""), 1}, std::vector<float>(2 * 20, 0.5f), tiles, true);
    EXPECT_FALSE(std::fetestexcept(FE_INVALID));
  }
}

TEST(TileProduct, FewResultsOfALongDepthPartItByTheShapeAlone) {
  for (Isa isa : instruction_sets()) {
    const TileKernels& tiles = kernels(isa);
    ProductShape s;
    s.depth = s.x_row = 9000;
    s.columns = s.y_row = 10;
    s.w_depth = s.columns;
    s.w_is_packed = true;
    Random r(7);
    Case c{s, 9000, 90000, 10, 10, true, true, false, false, true};
    for (int threads : {1, 2, 16}) {
      Schedule schedule = default_schedule(s, isa, threads, caches());
      EXPECT_EQ(schedule.depth_parts, 4) << threads;
      EXPECT_EQ(check(r, c, schedule, tiles), "") << threads;
    }
  }
}

/// A schedule gives the same result for any threads and any number of parts.
TEST(TileProduct, PartsChangeNoBit) {
  for (Isa isa : instruction_sets()) {
    const TileKernels& tiles = kernels(isa);
    std::vector<std::vector<float>> results;
    for (int threads : {1, 2, 3, 5}) {
      Random r(5);
      ProductShape s;
      s.rows = 37;
      s.depth = 700;
      s.columns = 90;
      s.x_row = s.depth;
      s.w_depth = s.y_row = s.columns;
      std::vector<float> x(37 * 700), w(700 * 90), y(37 * 90);
      for (float& v : x) v = r.number();
      for (float& v : w) v = r.number();
      Product product(s, default_schedule(s, isa, threads, {8 << 10, 64 << 10}), tiles);
      std::vector<float> scratch(static_cast<size_t>(product.scratch_elements()));
      ProductData data;
      data.x = x.data();
      data.w = w.data();
      data.y = y.data();
      data.scratch = scratch.data();
      product.run(data);
      results.push_back(y);
      EXPECT_EQ(std::memcmp(results[0].data(), y.data(), y.size() * sizeof(float)), 0) << threads;
    }
  }
}

TEST(TileKernels, NoPageIsWritableAndExecutable) {
  std::vector<const TileKernels*> made;
  for (Isa isa : instruction_sets()) made.push_back(&kernels(isa));
  std::ifstream maps("/proc/self/maps");
  size_t executable = 0;
  for (std::string line; std::getline(maps, line);) {
    std::string rights = line.substr(line.find(' ') + 1, 4);
    EXPECT_FALSE(rights[1] == 'w' && rights[2] == 'x') << line;
    executable += rights == "r-xp" && line.find('/') == std::string::npos;
  }
  EXPECT_GE(executable, made.empty() ? 0u : 1u) << "code of our own";
  for (const TileKernels* tiles : made)
    std::printf("%s: %zu bytes of code\n", isa_name(tiles->isa()), tiles->code_bytes());
}

TEST(TileKernels, RefuseInstructionsThatTheProcessorLacks) {
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    EXPECT_EQ(TileKernels::make(isa).ok(), processor_has(isa)) << isa_name(isa);
}

} // namespace
} // namespace tg::tile
