// Tests the worked example of the paper, number by number; ranges and their divisors.
#include "runtime/tune/factors.h"
#include "runtime/tune/reuse.h"
#include "tests/unit/tune/read_operator.h"

#include <gtest/gtest.h>

#include <set>

namespace tg::tune {
namespace {

/// Runs every program in the same time, so that rounds keep the first.
class FlatDevice final : public Device {
public:
  std::string name() const override { return "flat"; }
  DeviceLimits limits() const override { return {}; }
  std::optional<double> measure(const Program& program) override {
    programs.push_back(program);
    return 1;
  }
  std::vector<Program> programs;
};

constexpr const char* kReused = "C2D [1, 128, 28, 28 | 512, 1, 1]; tiles 1.1.1.1.1, 4.1.8.2.2, "
                                "14.1.1.1.2, 1.1.28.1.1 | 4.64.2, 1.1.1, 1.1.1; unroll 1024; "
                                "vectors 1, 1";

Program reused_program() { return *read_program(kReused); }
Operator target() { return *read_operator("C2D [1, 128, 28, 28 | 256, 1, 1]"); }

TEST(WorkedExample, FeaturesOfTheReusedProgram) {
  Program program = reused_program();
  EXPECT_EQ(text(program), kReused);
  Nest nest = nest_of(program.op);
  Features found = features(program, nest);
  EXPECT_EQ(found.blocks, 56);
  EXPECT_EQ(found.threads, 56 * 224);
  EXPECT_EQ(found.shared, 56 * 11264);
  Footprint from = footprint(program, nest);
  EXPECT_EQ(from.block, 32 * 2 * 28);
  EXPECT_EQ(from.threads, 224);
  EXPECT_EQ(from.rounds, 4);
  EXPECT_EQ(from.loads, 32 * 128 + 128 * 2 * 28);
}

TEST(WorkedExample, RangesOfFeatures) {
  Growth grows = growth(target(), reused_program().op);
  EXPECT_EQ(1 / grows.reduction, 2);
  EXPECT_EQ(grows.all, 0.5);
  FeatureRanges ranges = feature_ranges(grows);
  EXPECT_EQ(ranges.blocks, (Range{0.5, 2})); // swapped
  EXPECT_EQ(ranges.threads, (Range{0.5, 1}));
  EXPECT_EQ(ranges.shared, (Range{0.5, 1}));
}

TEST(WorkedExample, NumbersOfBlocks) {
  Nest nest = nest_of(target());
  Footprint from = footprint(reused_program(), nest_of(reused_program().op));
  std::set<int64_t> blocks;
  for (int64_t points : block_sizes(growth(target(), reused_program().op), from, 128 * 28 * 28))
    blocks.insert(product(nest.space) / points);
  EXPECT_EQ(blocks, (std::set<int64_t>{28, 32, 49, 56, 64, 98, 112}));
}

TEST(WorkedExample, LinesOfBlocks) {
  Nest nest = nest_of(target());
  BlockCost cost(nest);
  EXPECT_EQ(best_block(nest, 1792, cost), (Extents{1, 32, 2, 28}));
  EXPECT_EQ(cost.of({1, 32, 2, 28}), 2816);
  EXPECT_EQ(cost.of({1, 64, 1, 28}), 3072);
}

TEST(WorkedExample, RequestsOfThreads) {
  Nest nest = nest_of(target());
  Extents block = {1, 32, 2, 28}, fetched = {128, 1, 1};
  struct Row {
    int64_t threads;
    Extents grid, inner;
    double cost;
  };
  for (const Row& row :
       {Row{112, {1, 8, 1, 14}, {1, 4, 2, 2}, 7680}, Row{128, {1, 16, 2, 4}, {1, 2, 1, 7}, 7680},
        Row{224, {1, 8, 1, 28}, {1, 4, 2, 1}, 8960}}) {
    auto shape = best_threads(nest, block, fetched, row.threads);
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->grid, row.grid);
    EXPECT_EQ(shape->inner, row.inner);
    EXPECT_EQ(shape->virtuals, (Extents{1, 1, 1, 1}));
    EXPECT_EQ(ThreadCost(nest, block, fetched).of(*shape, 1e9), row.cost);
  }
}

TEST(WorkedExample, ProgramsThatAreTried) {
  FlatDevice device;
  ReuseResult result = tune_by_reuse(target(), reused_program(), device);
  ASSERT_EQ(result.blocks.size(), 7u);
  const BlockTrace* trace = nullptr;
  for (const BlockTrace& one : result.blocks)
    if (one.points == 1792) trace = &one;
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->block, (Extents{1, 32, 2, 28}));
  EXPECT_EQ(trace->rounds, 2);
  EXPECT_EQ(trace->threads, (std::vector<int64_t>{224, 128, 112}));
  EXPECT_EQ(trace->other_rounds, (std::vector<int64_t>{4}));
  EXPECT_EQ(trace->unrolls, (std::vector<int64_t>{0, 16}));
  // Input 0 is the data, input 1 the kernel.
  EXPECT_EQ(trace->vectors, (std::vector<std::pair<size_t, int64_t>>{{0, 2}, {0, 4}}));
  EXPECT_EQ(result.trials, static_cast<int64_t>(device.programs.size()));
  for (const Program& program : device.programs) EXPECT_TRUE(check(program).ok()) << text(program);
}

} // namespace
} // namespace tg::tune
