// Tests the tuner's programs of norms, Winograd convolutions and capsule convolutions.
// Every legal program is a suitable schedule, results stay as accurate as before,
// plans use stored programs, and damaged rows are ignored.
#include "runtime/cpu/handles.h"
#include "runtime/cpu/tuning/capsule_programs.h"
#include "runtime/cpu/tuning/norm_programs.h"
#include "runtime/cpu/tuning/tune_device.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/cpu/tuning/winograd_programs.h"
#include "runtime/tune/pairs/selection.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/space.h"

#include "tests/unit/cpu/compare.h"
#include "tests/unit/cpu/tuning_device.h"
#include "tests/unit/tune/read_operator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

namespace tg::cpu {
namespace {

NormShape norm(int64_t rows, int64_t length, bool root = true) {
  return {rows, length, length, root};
}

/// A shape with "same" padding and adjacent channels.
WinogradShape winograd(int64_t tile, int64_t images, int64_t size, int64_t inputs,
                       int64_t outputs) {
  WinogradShape s;
  s.tile = tile;
  s.images = images;
  s.height = s.width = s.out_height = s.out_width = size;
  s.inputs = inputs;
  s.outputs = outputs;
  s.above = s.left = 1;
  s.x = {size * size * inputs, size * inputs, inputs};
  s.y = {size * size * outputs, size * outputs, outputs};
  return s;
}

/// Capsules of 4 x 4 with "same" padding.
OwnConvolution capsules(int64_t images, int64_t size, int64_t inputs, int64_t outputs,
                        int64_t stride = 1) {
  constexpr int64_t kSide = 4;
  OwnConvolution own;
  own.capsules = {kSide, kSide};
  tile::GroupedShape& s = own.shape;
  int64_t result = (size + stride - 1) / stride, from = kSide * inputs, to = kSide * outputs;
  s.images = kSide * images;
  s.inputs = from;
  s.outputs = to;
  s.image = {size, size};
  s.result = {result, result};
  s.kernel = {3, 3};
  s.stride = {stride, stride};
  s.before = {1, 1};
  s.x = {size * size * from, size * from, from};
  s.y = {result * result * to, result * to, to};
  return own;
}

/// Programs of norms, Winograd convolutions and capsules of several sizes.
std::vector<std::unique_ptr<OperatorPrograms>> all_programs(int threads) {
  std::vector<std::unique_ptr<OperatorPrograms>> all;
  for (const NormShape& shape : {norm(1, 50176), norm(1, 4096 * 4096), norm(64, 50176),
                                 norm(16, 1000), norm(3, 70001, false), norm(1, 7)})
    all.push_back(std::make_unique<NormPrograms>(shape, threads));
  for (const WinogradShape& shape :
       {winograd(4, 1, 56, 64, 64), winograd(4, 16, 28, 128, 128), winograd(2, 1, 7, 512, 512),
        winograd(4, 1, 13, 40, 90), winograd(2, 1, 3, 5, 3)})
    all.push_back(std::make_unique<WinogradPrograms>(shape, threads));
  for (const OwnConvolution& own : {capsules(1, 16, 32, 32, 2), capsules(1, 8, 32, 32),
                                    capsules(1, 16, 8, 16, 2), capsules(16, 8, 16, 16)})
    all.push_back(programs_of_convolution(own, threads, tile::caches()));
  return all;
}

TEST(OtherPrograms, AreSchedulesThatSuit) {
  for (int threads : {1, 2, 3})
    for (const auto& programs : all_programs(threads)) {
      ASSERT_TRUE(tune::check(programs->op()).ok()) << tune::text(programs->op());
      EXPECT_TRUE(programs->guess() || threads > 1) << programs->key();
      ProgramRules rules(*programs);
      tune::ProgramSpace space(programs->op(), rules, 5);
      for (int i = 0; i < 60; ++i) {
        std::optional<tune::Program> program = space.random();
        ASSERT_TRUE(program) << programs->key();
        if (i % 2)
          if (std::optional<tune::Program> other = space.mutated(*program)) program = other;
        std::string text = tune::text(*program);
        EXPECT_TRUE(tune::check(*program).ok()) << text;
        EXPECT_EQ(programs->why_not(*program), "") << text;
        EXPECT_EQ(tune::text(programs->adapted(*program)), text);
        Result<tune::Program> again = tune::read_program(text);
        ASSERT_TRUE(again) << text;
        EXPECT_EQ(tune::text(*again), text);
      }
    }
}

TEST(OtherPrograms, LoopsAreRoundedUp) {
  auto text = [](const OperatorPrograms& programs) { return tune::text(programs.op()); };
  EXPECT_EQ(text(WinogradPrograms(winograd(4, 1, 56, 64, 64), 1)),
            "WIN [6, 6, 196, 64 | 64] output 1, 56, 56, 4");
  EXPECT_EQ(text(WinogradPrograms(winograd(4, 1, 13, 40, 90), 2)),
            "WIN [6, 6, 16, 96 | 40] output 1, 13, 13, 4");
  EXPECT_EQ(text(WinogradPrograms(winograd(2, 1, 13, 40, 90), 1)),
            "WIN [4, 4, 49, 96 | 40] output 1, 13, 13, 2");
  auto flat = programs_of_convolution(capsules(1, 16, 8, 16, 2), 2, tile::caches());
  EXPECT_EQ(text(*flat), "CAP [1, 8, 12, 4, 4, 16 | 3, 3, 4, 8] stride 2");
  EXPECT_EQ(text(NormPrograms(norm(64, 50176), 2)), "FRB [64 | 1, 50176]");
  EXPECT_EQ(text(NormPrograms(norm(13, 4093), 2)), "FRB [14 | 1, 4096]");
}

/// B, T and M as in the paper, which counts one block and no fetches for a kernel without tiles.
TEST(OtherPrograms, FeaturesAndRanges) {
  WinogradPrograms programs(winograd(4, 1, 56, 64, 64), 1);
  std::optional<tune::Program> program = programs.guess();
  ASSERT_TRUE(program);
  tune::Nest nest = tune::nest_of(programs.op());
  int64_t rows = program->tile.space[2][4], width = program->tile.space[3][4];
  int64_t cuts = program->tile.space[2][0];
  tune::Features found = tune::features(*program, nest);
  EXPECT_EQ(found.blocks, static_cast<double>(cuts));
  EXPECT_EQ(found.threads, static_cast<double>(36 * 196 / rows * (64 / width)));
  // A block fetches its tiles of V and all weights.
  EXPECT_EQ(found.shared, static_cast<double>(36 * (196 + cuts * 64) * 64));

  NormPrograms wide(norm(1, 1024 * 1024), 1), narrow(norm(1, 256 * 256), 1);
  std::optional<tune::Program> start = narrow.guess();
  ASSERT_TRUE(start);
  tune::Features flat = tune::features(*start, tune::nest_of(narrow.op()));
  EXPECT_EQ(flat.blocks, 1);
  EXPECT_EQ(flat.threads, static_cast<double>(norm_table().lanes * 8 * 2)); // of two pieces
  EXPECT_EQ(flat.shared, 0);
  tune::FeatureRanges ranges = tune::feature_ranges(tune::growth(wide.op(), narrow.op()));
  EXPECT_EQ(ranges.blocks.low, 1.0 / 16); // r1
  EXPECT_EQ(ranges.blocks.high, 16);      // r2
  EXPECT_EQ(ranges.threads.low, 1);
  EXPECT_EQ(ranges.threads.high, 16);
}

TEST(OtherPrograms, SimilarOnesReuseEachOther) {
  for (int threads : {1, 2}) {
    std::vector<std::unique_ptr<OperatorPrograms>> all = all_programs(threads);
    size_t pairs = 0;
    for (const auto& target : all)
      for (const auto& reused : all) {
        if (target == reused || !tune::can_reuse(target->op(), reused->op())) continue;
        ProgramRules from(*reused), to(*target);
        tune::ProgramSpace space(reused->op(), from, 3);
        for (int i = 0; i < 3; ++i) {
          std::optional<tune::Program> program = space.random();
          ASSERT_TRUE(program) << reused->key();
          tune::ReuseOptions options;
          options.start = target->guess();
          tune::ReuseResult found = tune::tune_by_reuse(target->op(), *program, to, options);
          for (const tune::Measured& one : found.ranking) {
            EXPECT_EQ(target->why_not(one.program), "");
            EXPECT_TRUE(one.program == options.start || one.program.sketch == program->sketch)
                << tune::text(one.program) << " from " << tune::text(*program);
          }
        }
        EXPECT_FALSE(to.tried.empty()) << target->key() << " from " << reused->key();
        ++pairs;
      }
    EXPECT_GE(pairs, 10u);
  }
}

/// The programs of capsules and of their convolution correspond one to one.
TEST(OtherPrograms, CapsulesAreConvolutions) {
  for (const OwnConvolution& own : {capsules(1, 16, 32, 32, 2), capsules(16, 8, 16, 24)}) {
    auto programs = CapsulePrograms::of(own, 2, tile::caches());
    ASSERT_TRUE(programs);
    ProgramRules rules(*programs);
    tune::ProgramSpace space(programs->op(), rules, 2);
    for (int i = 0; i < 30; ++i) {
      std::optional<tune::Program> program = space.random();
      ASSERT_TRUE(program);
      tune::Program flat = programs->flattened(*program);
      EXPECT_EQ(programs->flat().why_not(flat), "");
      EXPECT_EQ(programs->to_capsules(flat), *program);
      tune::Features one = tune::features(*program, tune::nest_of(programs->op()));
      tune::Features other = tune::features(flat, tune::nest_of(flat.op));
      EXPECT_EQ(one.blocks, other.blocks);
      EXPECT_EQ(one.threads, other.threads);
    }
    Result<tune::Operator> smaller =
        tune::read_operator("CAP [1, 8, 8, 4, 4, 8 | 3, 3, 4, 8] stride 1");
    ASSERT_TRUE(smaller);
    EXPECT_TRUE(CapsulePrograms::of(*smaller, 2, tile::caches()));
    EXPECT_TRUE(tune::can_reuse(programs->op(), *smaller));
  }
  OwnConvolution uneven = capsules(1, 8, 32, 32);
  uneven.capsules = {3, 4}; // four images
  EXPECT_EQ(programs_of_convolution(uneven, 1, tile::caches())->op().type, tune::OpType::C2D);
}

TEST(OtherPrograms, BridgesHavePrograms) {
  auto a = tune::read_operator("WIN [6, 6, 196, 64 | 128] output 1, 56, 56, 4");
  auto b = tune::read_operator("WIN [6, 6, 50, 128 | 64] output 1, 28, 28, 4");
  ASSERT_TRUE(a && b);
  std::optional<tune::Operator> bridge = tune::bridge_of(*a, *b);
  ASSERT_TRUE(bridge);
  for (int threads : {1, 2}) {
    std::unique_ptr<WinogradPrograms> programs = WinogradPrograms::of(*bridge, threads);
    ASSERT_TRUE(programs);
    EXPECT_EQ(programs->op(), *bridge);
    EXPECT_EQ(programs->shape().tiles(), 50);
    ProgramRules rules(*programs);
    EXPECT_TRUE(tune::ProgramSpace(*bridge, rules, 1).random());
  }
  auto odd = tune::read_operator("WIN [5, 5, 50, 64 | 64] output 1, 28, 28, 3");
  ASSERT_TRUE(odd);
  EXPECT_FALSE(WinogradPrograms::of(*odd, 1));
}

TEST(OtherPrograms, KeysSayAllThatTimesDependOn) {
  std::set<std::string> keys;
  size_t count = 0;
  auto see = [&](const OperatorPrograms& programs) {
    keys.insert(programs.key());
    ++count;
  };
  for (int threads : {1, 2})
    for (const auto& programs : all_programs(threads)) see(*programs);
  NormShape n = norm(16, 1000);
  for (auto change :
       {+[](NormShape& s) { s.row_step = 1008; }, +[](NormShape& s) { s.root = false; }}) {
    NormShape changed = n;
    change(changed);
    see(NormPrograms(changed, 1));
  }
  WinogradShape w = winograd(4, 1, 56, 64, 64);
  for (auto change :
       {+[](WinogradShape& s) { s.above = 0; }, +[](WinogradShape& s) { s.x.pixel += 16; },
        +[](WinogradShape& s) { s.y.row += 16; }, +[](WinogradShape& s) { s.out_width = 55; }}) {
    WinogradShape changed = w;
    change(changed);
    see(WinogradPrograms(changed, 1));
  }
  EXPECT_EQ(keys.size(), count);
}

class TunedOthersTest : public TunedFolder {};

/// Records the norms and Winograd convolutions for which a plan looks up a schedule.
class Recorder final : public AllByRule {
public:
  std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) override {
    asked.push_back(std::make_unique<NormPrograms>(shape, threads));
    return std::nullopt;
  }
  std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) override {
    asked.push_back(std::make_unique<WinogradPrograms>(shape, threads));
    return std::nullopt;
  }
  std::vector<std::unique_ptr<OperatorPrograms>> asked;
};

/// Runs a Winograd convolution of some images and the norms of its results.
/// Has the kernels and both results.
struct OtherRun {
  std::vector<std::string> kernels;
  std::vector<Tensor> y;
  OtherRun(std::shared_ptr<TileSchedules> schedules, int64_t images, int64_t tile) {
    test::Builder b;
    NodeId x = b.input("x", {images, 40, 30, 29});
    NodeId u = b.op(OpKind::WinogradWeight, {b.weight("w", {72, 40, 3, 3})}, {Value::of_int(tile)});
    NodeId conv = b.op(OpKind::WinogradConv2d, {x, u, b.weight("bias", {72}), b.none()},
                       {Value::of_ints({1, 1, 1, 1}), test::act("relu")});
    NodeId square = b.op(OpKind::Mul, {conv, conv});
    NodeId sum =
        b.op(OpKind::ReduceSum, {square}, {Value::of_ints({1, 2, 3}), Value::of_bool(false)});
    b.output(conv);
    b.output(b.op(OpKind::Sqrt, {sum}));
    test::Comparison info;
    CompileOptions options;
    options.threads = 2;
    y = test::outputs_of(*make_cpu_backend(Products::Chosen, std::move(schedules)),
                         plan_from_graph(b.graph), options, 1, &info);
    for (const StepInfo& step : info.steps)
      if (step.implementation.find("winograd") == 0 || step.implementation.find("norm") == 0)
        kernels.push_back(step.implementation);
  }
};

TEST_F(TunedOthersTest, RunPlansByStoredPrograms) {
  for (int64_t images : {1, 16}) {
    auto recorder = std::make_shared<Recorder>();
    OtherRun by_rule(recorder, images, images == 1 ? 4 : 2);
    ASSERT_EQ(recorder->asked.size(), 2u);
    for (int draw = 0; draw < 6; ++draw) {
      for (const auto& one : recorder->asked) {
        ProgramRules rules(*one);
        tune::ProgramSpace space(one->op(), rules, static_cast<uint64_t>(draw));
        open()->keep(*one, {{*space.random(), 25.5}, 30.25, 14, true});
        ASSERT_TRUE(open()->kept(*one)) << one->key();
      }
      OtherRun tuned(TunedPrograms::on_demand(path, "some cpu"), images, images == 1 ? 4 : 2);
      ASSERT_EQ(tuned.kernels.size(), 2u);
      for (const std::string& kernel : tuned.kernels)
        EXPECT_NE(kernel.find(" tuned"), std::string::npos) << kernel;
      // The bits of a convolution do not depend on its schedule. The last bits of a sum do.
      EXPECT_EQ(std::memcmp(tuned.y[0].floats().data(), by_rule.y[0].floats().data(),
                            static_cast<size_t>(by_rule.y[0].bytes())),
                0);
      for (size_t i = 0; i < static_cast<size_t>(images); ++i)
        EXPECT_NEAR(tuned.y[1].floats()[i], by_rule.y[1].floats()[i],
                    1e-6 * by_rule.y[1].floats()[i]);
    }
    OtherRun elsewhere(TunedPrograms::on_demand(path, "another cpu"), images, images == 1 ? 4 : 2);
    EXPECT_EQ(elsewhere.kernels, by_rule.kernels);
  }
}

/// A value that is computed at load runs once and is not tuned. The library's time of the other
/// product is measured all the same.
TEST_F(TunedOthersTest, DoesNotTuneOperatorsThatRunAtLoad) {
  test::Builder b;
  auto norm_of = [&](NodeId x) {
    NodeId sum = b.op(OpKind::ReduceSum, {b.op(OpKind::Mul, {x, x})},
                      {Value::of_ints({1}), Value::of_bool(false)});
    return b.op(OpKind::Sqrt, {sum});
  };
  NodeId x = b.input("x", {96, 512});
  b.output(b.op(OpKind::Add, {norm_of(x), norm_of(b.weight("of_weights", {96, 512}))}));
  auto product = [&](NodeId of, NodeId by) {
    return b.op(OpKind::Matmul, {of, by, b.none(), b.none()}, {test::act("none")});
  };
  NodeId square = b.weight("square", {512, 128});
  b.output(product(x, product(b.weight("left", {512, 512}), square)));
  Plan plan = plan_from_graph(b.graph);
  auto recorder = std::make_shared<Recorder>();
  (void)test::outputs_of(*make_cpu_backend(Products::Chosen, recorder), plan, {}, 1);
  EXPECT_EQ(recorder->asked.size(), 1u);

  Result<std::unique_ptr<tune::PlanDevice>> device =
      make_tune_device(plan, {.threads = 1, .database = path});
  // Reason: the tuner requires own tiles.
  if (!device) GTEST_SKIP() << device.error().message;
  ASSERT_EQ((*device)->operators().size(), 2u);
  for (size_t i : {0u, 1u})
    if ((*device)->operators()[i].op->type == tune::OpType::BMM) {
      EXPECT_GT((*device)->library_us(i), 0);
    }
}

/// The lookups and the result of capsules as examples/paper/eto/cap.tg writes them.
TEST_F(TunedOthersTest, CapsulesOfPlansAreSeen) {
  // Reason: they are tuned only on own code, which a processor without AVX2 cannot run.
  if (!may_use_own("avx2")) GTEST_SKIP() << "code for AVX2, which is not here";
  class Sees final : public AllByRule {
  public:
    using AllByRule::find;
    std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& own, int n) override {
      types.push_back(programs_of_convolution(own, n, tile::caches())->op().type);
      return std::nullopt;
    }
    std::vector<tune::OpType> types;
  };
  auto run = [&](bool capsules, std::shared_ptr<TileSchedules> schedules) {
    test::Builder b;
    NodeId x = b.input("x", {2, 4, 4, 8, 9, 9});
    int64_t rows = capsules ? 4 : 8;
    NodeId images =
        b.op(OpKind::Reshape,
             {capsules ? x : b.op(OpKind::Reshape, {x}, {Value::of_ints({2, 4, 32, 81})})},
             {Value::of_ints({2 * rows, 128 / rows, 9, 9})});
    b.output(b.op(
        OpKind::Conv2d, {images, b.weight("w", {48, 128 / rows, 3, 3}), b.none(), b.none()},
        {test::pair(1, 1), Value::of_ints({1, 1, 1, 1}), test::pair(1, 1), test::act("none")}));
    return test::outputs_of(*make_cpu_backend(Products::Tiles, std::move(schedules)),
                            plan_from_graph(b.graph), {}, 1);
  };
  auto sees = std::make_shared<Sees>();
  (void)run(true, sees);
  (void)run(false, sees);
  EXPECT_EQ(sees->types, (std::vector{tune::OpType::CAP, tune::OpType::C2D}));
}

/// A row that is damaged or belongs to another operator is treated as missing.
TEST_F(TunedOthersTest, DamagedRowsAreNotUsed) {
  NormPrograms norms(norm(64, 50176), 2), others(norm(16, 1000), 2);
  WinogradPrograms cuts(winograd(4, 1, 56, 64, 64), 2), more(winograd(4, 1, 13, 40, 90), 2);
  auto row = [&](const OperatorPrograms& one) {
    ProgramRules rules(one);
    return kept_text({{*tune::ProgramSpace(one.op(), rules, 1).random(), 25.5}, 30.25, 14, true});
  };
  struct Damage {
    const OperatorPrograms& at;
    std::string text;
  };
  std::vector<Damage> all = {
      {norms, row(others)}, {norms, llvm::StringRef(row(norms)).drop_back(2).str() + "0"},
      {norms, "rubbish"},   {cuts, row(more)},
      {cuts, row(norms)},   {cuts, llvm::StringRef(row(cuts)).take_front(60).str()}};
  for (const Damage& damage : all) {
    CostDb::open(path, TunedPrograms::environment("some cpu"))
        ->store(CostRow{damage.at.key(), 25.5, damage.text});
    std::shared_ptr<TunedPrograms> tuned = open();
    EXPECT_FALSE(tuned->kept(damage.at)) << damage.text;
    EXPECT_FALSE(tuned->notes().empty()) << damage.text;
  }
  open()->keep(cuts, {{*cuts.guess(), 25.5}, 30.25, 14, true}); // tuned again
  EXPECT_TRUE(open()->find_winograd(cuts.shape(), 2));
}

} // namespace
} // namespace tg::cpu
