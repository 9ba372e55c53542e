// Tests the tuner's programs of convolutions as schedules of emitted code,
// and plans that use stored programs. Every legal program is a suitable schedule,
// and the choice of a schedule does not change any bit of the result.
#include "runtime/cpu/handles.h"
#include "runtime/cpu/tile/long_rows.h"
#include "runtime/cpu/tuning/convolution_programs.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/space.h"

#include "tests/unit/cpu/compare.h"
#include "tests/unit/cpu/tuning_device.h"
#include "tests/unit/tune/read_operator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace tg::cpu {
namespace {

struct Sizes {
  int64_t groups, inputs, outputs, size, kernel = 3, stride = 1, dilation = 1;
};

/// A square image with "same" padding.
OwnConvolution convolution(const Sizes& z, bool depthwise = false) {
  OwnConvolution own;
  own.depthwise = depthwise;
  tile::GroupedShape& s = own.shape;
  s.groups = z.groups;
  s.inputs = z.inputs;
  s.outputs = z.outputs;
  int64_t result = (z.size + z.stride - 1) / z.stride, before = z.kernel / 2 * z.dilation;
  s.image = {z.size, z.size};
  s.result = {result, result};
  s.kernel = {z.kernel, z.kernel};
  s.stride = {z.stride, z.stride};
  s.dilation = {z.dilation, z.dilation};
  s.before = {before, before};
  int64_t from = z.groups * z.inputs, to = z.groups * z.outputs;
  s.x = {z.size * z.size * from, z.size * from, from};
  s.y = {result * result * to, result * to, to};
  return own;
}

using Form = OwnConvolution::Form;

/// A cube of pixels with a cubic kernel and "same" padding.
OwnConvolution volume(const Sizes& z, int64_t planes, bool depthwise = false) {
  OwnConvolution own = convolution(z, depthwise);
  tile::GroupedShape& s = own.shape;
  s.depth = {planes, planes, z.kernel, 1, z.dilation, s.before.rows};
  s.x.plane = s.x.image;
  s.y.plane = s.y.image;
  s.x.image *= planes;
  s.y.image *= planes;
  return own;
}

/// A convolution over one row of `size` pixels.
OwnConvolution sequence(const Sizes& z) {
  OwnConvolution own = convolution(z);
  tile::GroupedShape& s = own.shape;
  s.image.rows = s.result.rows = s.kernel.rows = s.stride.rows = s.dilation.rows = 1;
  s.before.rows = s.x.row = s.y.row = 0;
  s.x.image = s.image.columns * s.x.pixel;
  s.y.image = s.result.columns * s.y.pixel;
  EXPECT_TRUE(tile::LongRows::suits(s));
  s = tile::LongRows::middle(s);
  own.form = Form::LongRows;
  return own;
}

/// A transposed convolution whose result is `stride` times the size.
OwnConvolution transposed(const Sizes& z) {
  OwnConvolution own = convolution(z);
  tile::GroupedShape& s = own.shape;
  s.result = {z.size * z.stride, z.size * z.stride};
  s.before = {(z.kernel - z.stride) / 2, (z.kernel - z.stride) / 2};
  int64_t to = z.groups * z.outputs;
  s.y = {s.result.rows * s.result.columns * to, s.result.columns * to, to};
  own.form = Form::Transposed;
  return own;
}

OwnConvolution with_avx512(OwnConvolution own) {
  own.shape.isa = tile::Isa::Avx512;
  return own;
}

const std::vector<OwnConvolution>& convolutions() {
  static const std::vector<OwnConvolution> all = {
      convolution({1, 64, 64, 56}),
      convolution({1, 3, 64, 224, 7, 2}),
      convolution({1, 512, 512, 7}),
      convolution({1, 16, 88, 13, 3, 1, 2}),
      convolution({1, 5, 3, 9}),
      convolution({32, 4, 4, 56}),
      convolution({7, 2, 3, 19, 5}),
      convolution({32, 16, 16, 14, 3, 2}),
      convolution({3, 20, 30, 10}),
      convolution({96, 1, 1, 112, 3, 2}, true),
      convolution({144, 1, 1, 56}, true),
      convolution({45, 1, 1, 7, 5}, true),
      convolution({960, 1, 1, 1}, true),
      volume({1, 64, 64, 14}, 8),
      volume({1, 3, 45, 28, 3, 1, 2}, 5),
      volume({8, 16, 16, 14}, 4),
      volume({54, 1, 1, 14}, 4, true),
      sequence({1, 64, 96, 4000, 5, 2}),
      sequence({1, 512, 512, 799, 3, 2}),
      sequence({1, 16, 20, 5000, 3, 1, 2}),
      transposed({1, 128, 64, 16, 4, 2}),
      transposed({1, 256, 128, 28, 2, 2}),
      transposed({1, 21, 21, 34, 16, 8}),
      transposed({1, 64, 64, 13, 3, 1}),
      transposed({4, 16, 16, 16, 4, 2}),
      transposed({6, 3, 5, 9, 4, 2}),
      transposed({32, 1, 1, 16, 4, 2}),
      with_avx512(convolution({1, 64, 64, 56})),
      with_avx512(convolution({1, 3, 64, 224, 7, 2})),
      with_avx512(convolution({1, 16, 88, 13, 3, 1, 2})),
      with_avx512(convolution({32, 4, 4, 56})),
      with_avx512(convolution({3, 20, 30, 10})),
      with_avx512(convolution({1, 64, 256, 14, 1})),
      with_avx512(convolution({144, 1, 1, 56}, true)),
      with_avx512(convolution({45, 1, 1, 7, 5}, true)),
  };
  return all;
}

/// Returns times that grow with the number of tiles.
double by_tiles(const tune::Program& program) {
  return static_cast<double>(program.tile.threads());
}

TEST(ConvolutionPrograms, AreSchedulesThatSuit) {
  for (OwnConvolution own : convolutions())
    for (int threads : {1, 2, 3}) {
      own.tail.finish = threads == 3; // then a block has all channels
      ConvolutionPrograms programs(own, threads, tile::caches());
      ASSERT_TRUE(tune::check(programs.op()).ok()) << tune::text(programs.op());
      EXPECT_TRUE(ConvolutionPrograms::suits(own, programs.untuned())) << programs.key();
      ProgramRules rules(programs, by_tiles);
      std::optional<tune::Program> guess = programs.guess();
      if (guess) {
        EXPECT_EQ(programs.schedule(*guess).vectors, programs.untuned().vectors);
      }
      EXPECT_TRUE(guess || threads > 1) << programs.key(); // its blocks are for other threads
      tune::ProgramSpace space(programs.op(), rules, 5);
      std::set<std::string> seen;
      for (int i = 0; i < 60; ++i) {
        std::optional<tune::Program> program = space.random();
        ASSERT_TRUE(program) << programs.key();
        if (i % 2)
          if (std::optional<tune::Program> other = space.mutated(*program)) program = other;
        std::string text = tune::text(*program);
        seen.insert(text);
        EXPECT_TRUE(tune::check(*program).ok()) << text;
        EXPECT_EQ(tune::text(programs.adapted(*program)), text);
        tile::ConvolutionSchedule schedule = programs.schedule(*program);
        EXPECT_TRUE(ConvolutionPrograms::suits(own, schedule)) << text;
        int64_t planes = own.shape.planes();
        tile::ConvolutionSchedule by_rule = programs.untuned();
        EXPECT_GE(planes * schedule.bands * schedule.spans,
                  std::min<int64_t>(threads, planes * by_rule.bands * by_rule.spans));
      }
      EXPECT_GE(seen.size(), own.shape.result.rows == 1 ? 1u : 4u) << programs.key();
    }
}

TEST(ConvolutionPrograms, LoopsAreRoundedUp) {
  auto op = [](const OwnConvolution& own) {
    return tune::text(ConvolutionPrograms(own, 1, tile::caches()).op());
  };
  EXPECT_EQ(op(convolution({1, 64, 64, 56})), "C2D [1, 64, 56, 60 | 64, 3, 3]");
  EXPECT_EQ(op(convolution({1, 3, 63, 147, 7, 2})), "C2D [1, 64, 75, 84 | 3, 7, 7] stride 2, 2");
  EXPECT_EQ(op(convolution({32, 4, 4, 56})), "GRP [1, 128, 56, 60 | 4, 3, 3] groups 32");
  EXPECT_EQ(op(convolution({144, 1, 1, 7}, true)), "DEP [1, 144, 8, 12 | 3, 3]");
  EXPECT_EQ(op(volume({1, 64, 64, 14}, 7)), "C3D [1, 64, 7, 14, 24 | 64, 3, 3, 3]");
  EXPECT_EQ(op(volume({54, 1, 1, 14}, 4, true)), "DEP [4, 56, 14, 24 | 9, 3]");
  OwnConvolution row = sequence({1, 64, 96, 4000, 5, 2});
  EXPECT_EQ(llvm::StringRef(op(row)).split(" |").second, " 64, 5] stride 2");
  EXPECT_EQ(llvm::StringRef(op(row)).split("96").first, "C1D [1, ");
  EXPECT_GE(ConvolutionPrograms(row, 1, tile::caches()).op().space[2],
            row.shape.result.rows * row.shape.result.columns);
  EXPECT_EQ(op(transposed({1, 128, 60, 16, 4, 2})), // phases of 2 x 2 taps
            "T2D [1, 64, 32, 48 | 128, 2, 2] stride 2, 2");
  EXPECT_EQ(op(transposed({1, 256, 128, 28, 2, 2})), // the phases of columns are merged
            "T2D [1, 256, 56, 36 | 256, 1, 1] stride 2, 1");
  EXPECT_EQ(op(transposed({4, 16, 16, 16, 4, 2})),
            "T2D [1, 64, 32, 48 | 16, 2, 2] stride 2, 2 groups 4");
  EXPECT_EQ(op(convolution({1, 8, 24, 12})), "C2D [1, 24, 12, 12 | 8, 3, 3]");
  EXPECT_EQ(op(with_avx512(convolution({1, 8, 24, 12}))), "C2D [1, 32, 12, 12 | 8, 3, 3]");
}

/// Reuse by Algorithm 1 finds legal programs for other sizes, also of bridges.
TEST(ConvolutionPrograms, SimilarConvolutionsReuseEachOther) {
  struct Pair {
    OwnConvolution target, reused;
  };
  for (const Pair& pair :
       {Pair{convolution({1, 128, 128, 28}), convolution({1, 256, 256, 14})},
        Pair{convolution({1, 64, 64, 56}), convolution({1, 64, 64, 56, 3, 2})},
        Pair{convolution({32, 8, 8, 28}), convolution({32, 16, 16, 14})},
        Pair{convolution({144, 1, 1, 56}, true), convolution({384, 1, 1, 14}, true)},
        Pair{convolution({192, 1, 1, 28}, true), convolution({192, 1, 1, 28, 5, 2}, true)},
        Pair{volume({1, 128, 128, 14}, 8), volume({1, 256, 256, 7}, 4)},
        Pair{sequence({1, 64, 64, 4000}), sequence({1, 128, 128, 2000, 3, 2})},
        Pair{transposed({1, 128, 64, 16, 4, 2}), transposed({1, 256, 128, 8, 4, 2})},
        Pair{transposed({4, 16, 16, 16, 4, 2}), transposed({8, 16, 16, 8, 4, 2})}})
    for (int threads : {1, 2}) {
      ConvolutionPrograms target(pair.target, threads, tile::caches());
      ConvolutionPrograms reused(pair.reused, threads, tile::caches());
      tune::Operator bridge = reused.op();
      for (size_t i = 0; i < bridge.space.size(); ++i)
        bridge.space[i] = std::min(bridge.space[i], target.op().space[i]);
      for (size_t i = 0; i < bridge.reduction.size(); ++i)
        bridge.reduction[i] = std::min(bridge.reduction[i], target.op().reduction[i]);
      bridge.stride = bridge.dilation = {};
      if (pair.target.depthwise) bridge.multiplier = {1}; // as bridge_of() returns it
      if (!bridge.groups.empty())
        bridge.groups[0] = std::min(bridge.groups[0], target.op().groups[0]);
      auto between = ConvolutionPrograms::of(bridge, threads, tile::caches());
      ASSERT_TRUE(between) << tune::text(bridge);
      ProgramRules from(*between, by_tiles), to(target, by_tiles);
      tune::ProgramSpace space(bridge, from, 3);
      for (int i = 0; i < 5; ++i) {
        std::optional<tune::Program> program = space.random();
        ASSERT_TRUE(program) << tune::text(bridge);
        ASSERT_TRUE(tune::can_reuse(target.op(), bridge));
        tune::ReuseResult found = tune::tune_by_reuse(target.op(), *program, to);
        for (const tune::Measured& one : found.ranking) EXPECT_EQ(target.why_not(one.program), "");
      }
      EXPECT_FALSE(to.tried.empty()) << target.key();
    }
}

TEST(ConvolutionPrograms, AreEmptyWithoutCode) {
  for (const char* text :
       {"BMM [1, 128, 256 | 256]", "T2D [1, 64, 7, 8 | 64, 3, 3] stride 2, 2",
        "C3D [1, 8, 1, 1, 1 | 8, 3, 3, 9999]", "DEP [1, 64, 8, 8 | 3, 3] multiplier 2",
        "C2D [1, 8, 1, 1 | 8, 3, 9999]"}) {
    Result<tune::Operator> op = tune::read_operator(text);
    ASSERT_TRUE(op.ok()) << text;
    EXPECT_FALSE(ConvolutionPrograms::of(*op, 1, tile::caches())) << text;
  }
}

class TunedConvolutionsTest : public TunedFolder {
protected:
  void SetUp() override {
    // Reason: schedules belong to emitted code, which a processor without AVX2 cannot run.
    if (!may_use_own("avx2")) GTEST_SKIP() << "code for AVX2, which is not here";
    TunedFolder::SetUp();
  }
};

/// Records the convolutions for which a plan looks up a schedule.
class ConvolutionRecorder final : public AllByRule {
public:
  using AllByRule::find;
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& own, int threads) override {
    asked.emplace_back(own, threads, tile::caches());
    return std::nullopt;
  }
  std::vector<ConvolutionPrograms> asked;
};

/// A chain of convolutions: of a volume, of its pixels as a sequence, transposed, and transposed in
/// groups.
NodeId other_convolutions(test::Builder& b) {
  NodeId y = b.input("x", {1, 12, 4, 30, 50});
  y = b.op(
      OpKind::Conv3d, {y, b.weight("volume", {24, 12, 3, 3, 3}), b.weight("b", {24})},
      {Value::of_ints({1, 1, 1}), Value::of_ints({1, 1, 1, 1, 1, 1}), Value::of_ints({1, 1, 1})});
  y = b.op(OpKind::Reshape, {y}, {Value::of_ints({1, 24, 1, 6000})});
  y = b.op(OpKind::Conv2d, {y, b.weight("row", {32, 24, 1, 5}), b.none(), b.none()},
           {test::pair(1, 2), Value::of_ints({0, 2, 0, 2}), test::pair(1, 1), test::act("relu")});
  y = b.op(OpKind::Reshape, {y}, {Value::of_ints({1, 32, 50, 60})});
  for (auto [name, kernel, groups] :
       {std::tuple{"t", Shape{32, 20, 4, 4}, 1}, std::tuple{"in groups", Shape{20, 8, 4, 4}, 4}})
    y = b.op(
        OpKind::ConvTranspose2d,
        {y, b.weight(name, kernel), b.weight(std::string(name) + " bias", {kernel[1] * groups})},
        {test::pair(2, 2), Value::of_ints({1, 1, 1, 1}), test::pair(0, 0), test::pair(1, 1),
         Value::of_int(groups)});
  return y;
}

/// Runs three convolutions in a chain. Has the kernels and the result.
struct ConvolutionRun {
  std::vector<std::string> kernels;
  Tensor y;
  explicit ConvolutionRun(std::shared_ptr<TileSchedules> schedules, bool others = false) {
    test::Builder b;
    if (others) {
      b.output(other_convolutions(b));
      run(b, std::move(schedules));
      return;
    }
    NodeId y0 = b.input("x", {1, 16, 20, 23});
    for (auto [name, kernel, activation] : {std::tuple{"dense", Shape{32, 16, 3, 3}, "relu"},
                                            {"grouped", Shape{32, 8, 3, 3}, "tanh"},
                                            {"depthwise", Shape{32, 1, 3, 3}, "none"}})
      y0 = b.op(OpKind::Conv2d,
                {y0, b.weight(name, kernel), b.weight(std::string(name) + " bias", {32}), b.none()},
                {test::pair(1, 1), Value::of_ints({1, 1, 1, 1}), test::pair(1, 1),
                 test::act(activation)});
    b.output(y0);
    run(b, std::move(schedules));
  }

private:
  void run(const test::Builder& b, std::shared_ptr<TileSchedules> schedules) {
    test::Comparison info;
    CompileOptions options;
    options.threads = 2;
    y = std::move(test::outputs_of(*make_cpu_backend(Products::Tiles, std::move(schedules)),
                                   plan_from_graph(b.graph), options, 1, &info)[0]);
    for (const StepInfo& step : info.steps)
      if (step.name.find("conv") == 0) kernels.push_back(step.implementation);
  }
};

TEST_F(TunedConvolutionsTest, RunPlansByStoredProgramsWithTheSameBits) {
  for (bool others : {false, true}) {
    auto recorder = std::make_shared<ConvolutionRecorder>();
    ConvolutionRun by_rule(recorder, others);
    size_t count = others ? 4 : 3;
    ASSERT_EQ(recorder->asked.size(), count);
    ASSERT_EQ(by_rule.kernels.size(), count);
    std::set<std::string> keys;
    for (int draw = 0; draw < 8; ++draw) {
      for (const ConvolutionPrograms& one : recorder->asked) {
        keys.insert(one.key());
        ProgramRules rules(one, by_tiles);
        tune::ProgramSpace space(one.op(), rules, static_cast<uint64_t>(draw));
        open()->keep(one, {{*space.random(), 25.5}, 30.25, 14, true});
        ASSERT_TRUE(open()->kept(one)) << one.key();
      }
      ConvolutionRun tuned(TunedPrograms::on_demand(path, "some cpu"), others);
      for (const std::string& kernel : tuned.kernels)
        EXPECT_NE(kernel.find(" tuned"), std::string::npos) << kernel;
      EXPECT_EQ(std::memcmp(tuned.y.floats().data(), by_rule.y.floats().data(),
                            static_cast<size_t>(by_rule.y.bytes())),
                0);
    }
    EXPECT_EQ(keys.size(), count);
    EXPECT_EQ(ConvolutionRun(TunedPrograms::on_demand(path, "another cpu"), others).kernels,
              by_rule.kernels);
  }
}

TEST_F(TunedConvolutionsTest, PricesByTheOlderScheduleAreForgotten) {
  CostEnvironment prices{"some cpu", "avx2", "cpu: oneDNN", "cold", "f32", 2};
  std::vector<CostRow> rows = {{"conv2d(f32[1, 8, 9, 9])", 10, "tile:avx2 dense 6x16"},
                               {"conv2d(f32[1, 8, 1, 1])", 10, "brgemm:avx2"},
                               {"matmul(f32[8, 8], f32[8, 8])", 10, "tile:avx2 6x16"}};
  CostDb::open(path, prices)->store(rows);
  ConvolutionPrograms one(convolution({1, 64, 64, 56}), 2, tile::caches());
  ProgramRules rules(one, by_tiles);
  open()->keep(one, {{*tune::ProgramSpace(one.op(), rules, 1).random(), 25.5}, 30.25, 14, true});
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(CostDb::open(path, prices)->find(rows[i].instance).has_value(), i > 0);
}

/// The work counts the taps inside the image.
TEST(ConvolutionPrograms, DoNotCountTapsInThePadding) {
  auto flops = [](const OwnConvolution& own) {
    return ConvolutionPrograms(own, 1, tile::caches()).flops();
  };
  // Along an axis of 7 pixels, 19 of 21 taps are inside.
  EXPECT_EQ(flops(convolution({1, 512, 512, 7})), 2.0 * 512 * 512 * 19 * 19);
  EXPECT_EQ(flops(convolution({32, 4, 4, 56})), 2.0 * 128 * 4 * 166 * 166);
  EXPECT_EQ(flops(convolution({45, 1, 1, 7, 5}, true)), 2.0 * 45 * 29 * 29);
  EXPECT_EQ(flops(convolution({96, 1, 1, 112, 3, 2}, true)), 2.0 * 96 * 167 * 167);
  EXPECT_EQ(flops(convolution({1, 16, 88, 13, 3, 1, 2})), 2.0 * 16 * 88 * 35 * 35);
  EXPECT_EQ(flops(convolution({1, 8, 8, 4, 1})), 2.0 * 8 * 8 * 16); // one tap
  EXPECT_EQ(flops(volume({1, 64, 64, 14}, 8)), 2.0 * 64 * 64 * 22 * 40 * 40);
  // 3 taps with a stride of 1 over 13 pixels: 37 of 39 are inside.
  EXPECT_EQ(flops(transposed({1, 64, 64, 13, 3, 1})), 2.0 * 64 * 64 * 37 * 37);
}

/// Convolutions with different times have different keys.
TEST(ConvolutionPrograms, KeysSayAllThatTimesDependOn) {
  std::set<std::string> keys;
  size_t count = 0;
  auto see = [&](const OwnConvolution& own, int threads = 1) {
    keys.insert(ConvolutionPrograms(own, threads, tile::caches()).key());
    ++count;
  };
  for (const OwnConvolution& own : convolutions()) see(own);
  OwnConvolution own = convolution({1, 64, 64, 56});
  see(own, 2);
  for (auto change : {+[](OwnConvolution& o) { o.tail.bias = true; },
                      +[](OwnConvolution& o) { o.tail.residual = true; },
                      +[](OwnConvolution& o) { o.tail.clamp = tile::Clamp::Relu6; },
                      +[](OwnConvolution& o) { o.tail.finish = true; },
                      +[](OwnConvolution& o) { o.shape.x.pixel += 8; },
                      +[](OwnConvolution& o) { o.shape.y.row += 8; },
                      +[](OwnConvolution& o) { o.shape.depth = {3, 3, 2, 1, 1, 1}; },
                      +[](OwnConvolution& o) {
                        o.shape.depth = {3, 3, 2};
                      },
                      +[](OwnConvolution& o) { o.form = Form::LongRows; },
                      +[](OwnConvolution& o) {
                        o.shape.before = {0, 0};
                      },
                      +[](OwnConvolution& o) { o.shape.images = 2; }}) {
    OwnConvolution changed = own;
    change(changed);
    see(changed);
  }
  EXPECT_EQ(keys.size(), count);
}

} // namespace
} // namespace tg::cpu
