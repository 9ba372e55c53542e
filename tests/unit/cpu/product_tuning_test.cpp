// Tests the tuner's programs of products as schedules of register tiles, and their storage. Every
// legal program is a schedule with correct results. A damaged file costs another tuning and nothing
// else.
#include "runtime/cpu/handles.h"
#include "runtime/cpu/tuning/convolution_programs.h"
#include "runtime/cpu/tuning/product_programs.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/tune/search/space.h"

#include "tests/unit/cpu/compare.h"
#include "tests/unit/cpu/tuning_device.h"
#include "tests/unit/random_draws.h"

#include <gtest/gtest.h>
#include <llvm/Support/FileSystem.h>

#include <cmath>
#include <fstream>
#include <thread>

namespace tg::cpu {
namespace {

tile::ProductShape shape(int64_t rows, int64_t depth, int64_t columns, int64_t batch = 1) {
  tile::ProductShape s;
  s.rows = rows;
  s.depth = s.x_row = depth;
  s.columns = s.w_depth = s.y_row = columns;
  s.w_is_packed = batch == 1;
  s.batch.clear();
  for (int64_t i = 0; i < batch; ++i)
    s.batch.push_back({i * rows * depth, i * depth * columns, i * rows * columns, 0, 0});
  return s;
}

/// Compares sums of the product by a schedule with sums in double.
void expect_right(const tile::ProductShape& s, const tile::Schedule& schedule,
                  const tile::TileKernels& tiles, const std::string& program) {
  RandomDraws random(3);
  auto numbers = [&](int64_t count) {
    std::vector<float> all(static_cast<size_t>(count));
    for (float& one : all) one = random.number();
    return all;
  };
  auto batch = static_cast<int64_t>(s.batch.size());
  std::vector<float> x = numbers(batch * s.rows * s.depth),
                     w = numbers(batch * s.depth * s.columns);
  std::vector<float> y(static_cast<size_t>(batch * s.rows * s.columns), -77);
  int64_t width = tile::panel_columns(tiles.isa());
  std::vector<float> panels(
      static_cast<size_t>(tile::packed_cells(s.depth, s.columns, tiles.isa())));
  if (s.w_is_packed)
    tile::pack_panels(panels.data(), {w.data(), s.depth, s.columns, s.columns, 1}, width, 0,
                      tile::panel_count(s.columns, width));
  tile::Product product(s, schedule, tiles);
  std::vector<float> scratch(static_cast<size_t>(product.scratch_elements()) + 16);
  size_t ahead = (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) / 4;
  tile::ProductData data;
  data.x = x.data();
  data.w = s.w_is_packed ? panels.data() : w.data();
  data.y = y.data();
  data.scratch = scratch.data() + ahead % 16;
  product.run(data);
  for (int n = 0; n < 200; ++n) {
    int64_t b = random.in(0, batch - 1), i = random.in(0, s.rows - 1),
            j = random.in(0, s.columns - 1);
    double sum = 0, size = 0;
    for (int64_t k = 0; k < s.depth; ++k) {
      double term = static_cast<double>(x[static_cast<size_t>((b * s.rows + i) * s.depth + k)]) *
                    static_cast<double>(w[static_cast<size_t>((b * s.depth + k) * s.columns + j)]);
      sum += term;
      size += std::abs(term);
    }
    double got = static_cast<double>(y[static_cast<size_t>((b * s.rows + i) * s.columns + j)]);
    ASSERT_NEAR(got, sum, 1e-5 * size + 1e-6) << program;
  }
}

void expect_right_programs(const tile::ProductShape& s, const tile::TileKernels& tiles,
                           int threads) {
  ProductPrograms programs(s, tiles.isa(), threads, tile::caches());
  ASSERT_TRUE(tune::check(programs.op()).ok()) << tune::text(programs.op());
  ProgramRules rules(programs);
  if (std::optional<tune::Program> guess = programs.guess()) {
    tile::Schedule near = programs.schedule(*guess), by_rule = programs.untuned();
    EXPECT_LE(std::abs(near.tile_rows - by_rule.tile_rows), tile::most_rows(tiles.isa()) / 2)
        << programs.key();
    EXPECT_LE(near.tile_panels, by_rule.tile_panels) << programs.key();
  } else {
    EXPECT_GT(threads, 2) << programs.key() << ": the rule has parts that no program has";
  }
  tune::ProgramSpace space(programs.op(), rules, 5);
  for (int i = 0; i < 40; ++i) {
    std::optional<tune::Program> program = space.random();
    ASSERT_TRUE(program) << product_key(s, tiles.isa(), threads);
    if (i % 2)
      if (std::optional<tune::Program> other = space.mutated(*program)) program = other;
    std::string text = tune::text(*program);
    EXPECT_TRUE(tune::check(*program).ok()) << text;
    EXPECT_EQ(tune::text(programs.adapted(*program)), text);
    tile::Schedule schedule = programs.schedule(*program);
    if (threads <= 2) { // more threads may have no common divisor with the panels
      EXPECT_GE(schedule.parts(), programs.untuned().parts()) << text;
    }
    expect_right(s, schedule, tiles, text);
  }
}

TEST(ProductPrograms, AreSchedulesWithRightResults) {
  // Reason: schedules belong to emitted tiles, which a processor without AVX2 cannot run.
  if (!tile::processor_has(tile::Isa::Avx2)) GTEST_SKIP() << "tiles for AVX2, which is not here";
  for (tile::Isa isa : {tile::Isa::Avx2, tile::Isa::Avx512}) {
    if (!tile::processor_has(isa)) continue;
    auto tiles = tile::TileKernels::make(isa);
    ASSERT_TRUE(tiles.ok());
    for (const tile::ProductShape& s :
         {shape(128, 96, 192), shape(197, 64, 197), shape(128, 64, 128, 12), shape(1, 100, 200),
          shape(5, 64, 96), shape(49, 40, 31), shape(7, 1, 16), shape(64, 784, 10),
          shape(3, 33, 48), shape(2, 8, 33, 7)})
      for (int threads : {1, 2, 4}) expect_right_programs(s, **tiles, threads);
  }
}

TEST(ProductPrograms, ReuseFindsLegalShapes) {
  ProductPrograms programs(shape(128, 768, 3072), tile::Isa::Avx2, 2, tile::caches());
  tune::Nest nest = tune::nest_of(programs.op());
  EXPECT_EQ(tune::text(programs.op()), "BMM [1, 144, 3072 | 768]");
  tune::BlockCost cost(nest);
  tune::Extents block = programs.choose_block(nest, 144 * 256, cost);
  ASSERT_EQ(block.size(), 3u);
  EXPECT_EQ(tune::product(block), 144 * 256);
  EXPECT_EQ(block[2] % 16, 0);
  int64_t row_tiles = block[1] / 6;
  std::optional<tune::ThreadShape> threads = programs.choose_threads(block, row_tiles);
  ASSERT_TRUE(threads);
  EXPECT_EQ(threads->inner, (tune::Extents{1, 6, 16}));
  EXPECT_FALSE(programs.choose_threads(block, 7919));
}

class TunedProgramsTest : public TunedFolder {
protected:
  static ProductPrograms product(int64_t columns = 768, int threads = 2) {
    return {shape(128, 768, columns), tile::Isa::Avx2, threads, tile::caches()};
  }
  static tune::KeptProgram found_for(const ProductPrograms& product, bool faster = true) {
    ProgramRules rules(product);
    tune::ProgramSpace space(product.op(), rules, 9);
    return {{*space.random(), 250.5}, 300.25, 143, faster};
  }
  /// Replaces the stored text of a product.
  void write(const ProductPrograms& product, const std::string& text) const {
    CostDb::open(path, TunedPrograms::environment("some cpu"))
        ->store(CostRow{product.key(), 100, text});
  }
};

TEST_F(TunedProgramsTest, FindsKeptProgramsInTheSameEnvironment) {
  ProductPrograms a = product();
  tune::KeptProgram found = found_for(a);
  EXPECT_FALSE(open()->kept(a));
  open()->keep(a, found);
  std::optional<tune::KeptProgram> again = open()->kept(a);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->best.program, found.best.program);
  EXPECT_EQ(again->best.microseconds, 250.5);
  EXPECT_EQ(again->untuned_us, 300.25);
  EXPECT_EQ(again->trials, 143);
  std::optional<tile::Schedule> schedule = open()->find(a.shape(), a.isa(), a.threads());
  ASSERT_TRUE(schedule);
  EXPECT_EQ(tile::text(*schedule, a.isa()), tile::text(a.schedule(found.best.program), a.isa()));
  EXPECT_FALSE(open()->kept(product(768, /*threads=*/1)));
  EXPECT_FALSE(open()->find(shape(128, 768, 769), a.isa(), 2));
  EXPECT_FALSE(TunedPrograms::open(path, "another cpu")->kept(a));
  EXPECT_EQ(open()->programs(2).size(), 1u);
  EXPECT_TRUE(open()->programs(1).empty());
}

/// Records the products for which a plan looks up a schedule.
class Recorder final : public AllByRule {
public:
  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override {
    asked.emplace_back(shape, isa, threads, tile::caches());
    return std::nullopt;
  }
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                int threads) override {
    ADD_FAILURE() << "unexpected call for "
                  << ConvolutionPrograms(convolution, threads, tile::caches()).name();
    return std::nullopt;
  }
  std::vector<ProductPrograms> asked;
};

/// Runs a model of one product. Has its kernel and its result.
struct ProductRun {
  std::string kernel;
  Tensor y;
  explicit ProductRun(std::shared_ptr<TileSchedules> schedules) {
    test::Builder b;
    NodeId w = b.weight("w", {768, 768});
    b.output(b.op(OpKind::Matmul, {b.input("x", {128, 768}), w, b.none(), b.none()}));
    test::Comparison info;
    CompileOptions options;
    options.threads = 2;
    y = std::move(test::outputs_of(*make_cpu_backend(Products::Tiles, std::move(schedules)),
                                   plan_from_graph(b.graph), options, 1, &info)[0]);
    kernel = info.steps.back().implementation;
  }
};

TEST_F(TunedProgramsTest, RunPlansByStoredPrograms) {
  // Reason: schedules belong to emitted tiles, which a processor without AVX2 cannot run.
  if (!may_use_own("avx2")) GTEST_SKIP() << "tiles for AVX2, which is not here";
  auto on_demand = [&](llvm::StringRef processor) {
    return TunedPrograms::on_demand(path, processor);
  };
  auto recorder = std::make_shared<Recorder>();
  ProductRun by_rule(recorder);
  ASSERT_EQ(recorder->asked.size(), 1u);
  const ProductPrograms& product = recorder->asked[0];
  EXPECT_EQ(ProductRun(on_demand("some cpu")).kernel, by_rule.kernel);
  EXPECT_FALSE(llvm::sys::fs::exists(path)) << "no file is written without tuning";

  tune::KeptProgram found = found_for(product);
  open()->keep(product, found);
  ProductRun tuned(on_demand("some cpu"));
  std::string tile = tile_text(product.schedule(found.best.program), product.isa());
  EXPECT_NE(tuned.kernel.find(tile + " tuned"), std::string::npos) << tuned.kernel;
  EXPECT_LE(max_rel_diff(tuned.y, by_rule.y), 1e-5);
  EXPECT_EQ(ProductRun(on_demand("another cpu")).kernel, by_rule.kernel);

  write(product, "tuned from 12 us in 3 trials: BMM [1");
  EXPECT_EQ(ProductRun(on_demand("some cpu")).kernel, by_rule.kernel) << "damaged";
  open()->keep(product, found_for(product, /*faster=*/false));
  EXPECT_EQ(ProductRun(on_demand("some cpu")).kernel, by_rule.kernel);
}

TEST_F(TunedProgramsTest, GivesTheSameResultInOneProcess) {
  ProductPrograms a = product();
  auto plans = TunedPrograms::on_demand(path, "some cpu");
  EXPECT_FALSE(plans->find(a.shape(), a.isa(), a.threads()));
  open()->keep(a, found_for(a));
  EXPECT_FALSE(plans->find(a.shape(), a.isa(), a.threads())) << "one process, one result";
  EXPECT_TRUE(TunedPrograms::on_demand(path, "some cpu")->find(a.shape(), a.isa(), a.threads()));
}

TEST_F(TunedProgramsTest, PricesByTheOlderScheduleAreForgotten) {
  CostEnvironment prices{"some cpu", "avx2", "cpu: oneDNN", "cold", "f32", 2};
  CostEnvironment others = prices;
  others.processor = "another cpu";
  std::vector<CostRow> rows = {{"matmul(f32[128, 768], f32[768, 768])", 10, "tile:avx2 6x16"},
                               {"matmul(f32[8, 8], f32[8, 8])", 10, "brgemm:avx512"},
                               {"conv2d(f32[1, 8, 9, 9])", 10, "tile:avx2 dense 6x16"}};
  CostDb::open(path, prices)->store(rows);
  CostDb::open(path, others)->store(rows);
  ProductPrograms a = product();
  open()->keep(a, found_for(a, /*faster=*/false));
  EXPECT_TRUE(CostDb::open(path, prices)->find(rows[0].instance)) << "nothing became faster";
  open()->keep(a, found_for(a));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(CostDb::open(path, prices)->find(rows[i].instance).has_value(), i > 0);
    EXPECT_TRUE(CostDb::open(path, others)->find(rows[i].instance));
  }
  EXPECT_TRUE(open()->kept(a));
}

TEST_F(TunedProgramsTest, WholeRunsByTheOlderScheduleAreForgotten) {
  CostEnvironment runs{"some cpu", "avx2", "cpu: oneDNN", "whole runs", "f32", 2};
  auto known = [&] {
    return CostDb::open(path, runs)->find("whole run of the first, a").has_value();
  };
  auto run = [&] {
    CostDb::open(path, runs)->store(CostRow{"whole run of the first, a", 10, "whole run"});
  };
  run();
  ProductPrograms a = product();
  open()->keep(a, found_for(a, /*faster=*/false));
  EXPECT_TRUE(known()) << "by rule as ever";
  open()->keep(a, found_for(a));
  EXPECT_FALSE(known());
  run();
  open()->keep(a, found_for(a, /*faster=*/false));
  EXPECT_FALSE(known()) << "by rule again";
}

TEST_F(TunedProgramsTest, KnowsButDoesNotUseSlowerPrograms) {
  ProductPrograms a = product();
  open()->keep(a, found_for(a, /*faster=*/false));
  EXPECT_TRUE(open()->kept(a));
  EXPECT_FALSE(open()->find(a.shape(), a.isa(), a.threads()));
}

TEST_F(TunedProgramsTest, TheBestOfASearchThatWasCutOffIsUsedUntilItGoesOn) {
  ProductPrograms a = product();
  tune::KeptProgram found = found_for(a);
  found.cut_off = true;
  open()->keep(a, found);
  std::optional<tune::KeptProgram> again = open()->kept(a);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->cut_off);
  EXPECT_TRUE(open()->find(a.shape(), a.isa(), a.threads()));
  EXPECT_TRUE(open()->programs(2).empty()) << "none to reuse";
}

TEST_F(TunedProgramsTest, ADamagedRowIsNotUsedAndMakesRoom) {
  ProductPrograms a = product(), b = product(3072);
  tune::KeptProgram found = found_for(a);
  std::string good = kept_text(found);
  std::vector<std::string> damaged = {"", "tuned", "tuned from 0 us in 3 trials: x",
                                      kept_text(found_for(b))}; // a program of another product
  RandomDraws random(17);
  for (int i = 0; i < 200; ++i) {
    std::string text = good;
    auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(text.size()) - 1));
    if (random.coin())
      text[at] = static_cast<char>(random.in(1, 127));
    else
      text.erase(at);
    damaged.push_back(text);
  }
  for (const std::string& text : damaged) {
    write(a, text);
    auto tuned = open();
    bool used = tuned->find(a.shape(), a.isa(), a.threads()).has_value();
    std::optional<tune::KeptProgram> read = tuned->kept(a);
    std::string why = read ? a.why_not(read->best.program) : ""; // may still be valid
    EXPECT_EQ(why, "") << text;
    EXPECT_TRUE(read || !tuned->notes().empty()) << text;
    EXPECT_LE(used, read && read->faster) << text;
    EXPECT_LE(tuned->programs(2).size(), 1u);
  }
  open()->keep(a, found);
  EXPECT_TRUE(open()->kept(a));
}

TEST_F(TunedProgramsTest, AForeignFileIsLeftAloneAndADamagedOneReplaced) {
  std::ofstream(path) << std::string(8192, 'x');
  ProductPrograms a = product();
  auto tuned = open();
  EXPECT_FALSE(tuned->notes().empty());
  tuned->keep(a, found_for(a));
  EXPECT_TRUE(tuned->kept(a));
  EXPECT_TRUE(open()->kept(a));
}

TEST_F(TunedProgramsTest, KeepResultsOfConcurrentTuners) {
  constexpr int kTuners = 4, kEach = 12;
  std::vector<std::thread> tuners;
  for (int t = 0; t < kTuners; ++t)
    tuners.emplace_back([&, t] {
      auto tuned = open();
      for (int i = 0; i < kEach; ++i) {
        ProductPrograms one = product(64 * (1 + t * kEach + i));
        tuned->keep(one, found_for(one));
      }
    });
  for (std::thread& tuner : tuners) tuner.join();
  EXPECT_EQ(open()->programs(2).size(), static_cast<size_t>(kTuners * kEach));
}

} // namespace
} // namespace tg::cpu
