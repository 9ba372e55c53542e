// Tests that attention is recognised in plans and run as one operation, on a recording cuDNN
// and GPU.
#include "runtime/cuda/cudnn/attention.h"

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/executable.h"
#include "tests/unit/cuda/fake_cudnn.h"
#include "tests/unit/cuda/fake_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

Value plain() { return Value::of_enum("none"); }

enum class Hidden { None, ByRow, ByPlace, ByCondition, BySum, InMap, Causal, CausalSum };

struct Spelling {
  Hidden hidden = Hidden::None;
  bool scaled = true, divided = false, twice_turned = false, scores_read = false, joined = true;
  int64_t axis = 3;
};

/// Two images with three heads each, split and merged as the standard library does.
Plan attention(const Spelling& how = {}) {
  PlanWriter w;
  PlanValueId seen = kNoValue, low = w.constant({}, {-1e9});
  bool causal = how.hidden == Hidden::Causal || how.hidden == Hidden::CausalSum;
  int64_t rows = causal ? 7 : 5;
  std::vector<double> places = {0, 1, 2, 3, 4, 5, 6};
  if (causal)
    seen = w.load(OpKind::GreaterEqual, {}, {w.constant({7, 1}, places), w.constant({7}, places)});
  if (how.hidden == Hidden::CausalSum)
    seen = w.load(OpKind::Select, {}, {seen, w.constant({}, {0}), low});
  if (how.hidden == Hidden::ByCondition || how.hidden == Hidden::InMap)
    seen = w.load(OpKind::GreaterEqual, {},
                  {w.constant({5, 1}, {2, 3, 4, 5, 6}), w.constant({7}, {0, 1, 2, 3, 4, 5, 6})});
  Value split = Value::of_ints({0, 2, 1, 3});
  auto heads = [&](const char* name, int64_t places) {
    PlanValueId x = w.input(name, {2, places, 24});
    return w.run(OpKind::Reshape, {Value::of_ints({2, places, 3, 8})}, {x});
  };
  PlanValueId q = w.run(OpKind::Transpose, {split}, {heads("q", rows)}), keys;
  if (how.twice_turned)
    keys = w.run(OpKind::Transpose, {Value::of_ints({0, 1, 3, 2})},
                 {w.run(OpKind::Transpose, {split}, {heads("k", 7)})});
  else
    keys = w.run(OpKind::Transpose, {Value::of_ints({0, 2, 3, 1})}, {heads("k", 7)});
  PlanValueId v = w.run(OpKind::Transpose, {split}, {heads("v", 7)});
  PlanValueId scores = w.run(OpKind::Matmul, {plain()}, {q, keys, kNoValue, kNoValue});
  if (how.scores_read) w.output("scores", scores);
  PlanValueId factor = w.constant({}, {how.divided ? 4 : 0.25});
  if (how.hidden == Hidden::InMap)
    scores = w.run(OpKind::FusedMap, {Value::of_string("select($0, mul($1, $2), $3)")},
                   {seen, scores, factor, low});
  else if (how.scaled)
    scores = w.run(how.divided ? OpKind::Div : OpKind::Mul, {}, {scores, factor});
  if (how.hidden == Hidden::CausalSum) scores = w.run(OpKind::Add, {}, {scores, seen});
  if (how.hidden == Hidden::ByCondition || how.hidden == Hidden::Causal)
    scores = w.run(OpKind::Select, {}, {seen, scores, low});
  if (how.hidden == Hidden::ByRow)
    scores = w.run(OpKind::Add, {}, {scores, w.input("mask", {2, 1, 1, 7})});
  if (how.hidden == Hidden::ByPlace)
    scores = w.run(OpKind::Add, {}, {w.weight("bias", {3, 5, 7}), scores});
  if (how.hidden == Hidden::BySum) // larger than the scores
    scores = w.run(OpKind::Add, {}, {scores, w.input("mask", {2, 3, 5, 7})});
  PlanValueId weights = w.run(OpKind::Softmax, {Value::of_int(how.axis)}, {scores});
  PlanValueId y = w.run(OpKind::Matmul, {plain()}, {weights, v, kNoValue, kNoValue});
  if (how.joined)
    y = w.run(OpKind::Reshape, {Value::of_ints({2, rows, 24})},
              {w.run(OpKind::Transpose, {split}, {y})});
  w.output("y", y);
  return w.finish();
}

/// Six heads, of which groups of three share keys and values, as the standard library writes it.
Plan in_groups(bool causal) {
  PlanWriter w;
  std::vector<double> places = {0, 1, 2, 3, 4, 5, 6};
  PlanValueId seen = kNoValue;
  if (causal)
    seen = w.load(OpKind::GreaterEqual, {}, {w.constant({7, 1}, places), w.constant({7}, places)});
  auto heads = [&](const char* name, std::vector<int64_t> split, std::vector<int64_t> turn) {
    PlanValueId x = w.input(name, {2, 7, split[2] * split[3] * 8});
    PlanValueId apart = w.run(OpKind::Reshape, {Value::of_ints(split)}, {x});
    return w.run(OpKind::Transpose, {Value::of_ints(turn)}, {apart});
  };
  PlanValueId q = heads("q", {2, 7, 2, 3, 8}, {0, 2, 3, 1, 4}),
              k = heads("k", {2, 7, 2, 1, 8}, {0, 2, 3, 4, 1}),
              v = heads("v", {2, 7, 2, 1, 8}, {0, 2, 3, 1, 4});
  PlanValueId scores = w.run(OpKind::Matmul, {plain()}, {q, k, kNoValue, kNoValue});
  scores = w.run(OpKind::Mul, {}, {scores, w.constant({}, {0.25})});
  if (causal) scores = w.run(OpKind::Select, {}, {seen, scores, w.constant({}, {-1e9})});
  PlanValueId weights = w.run(OpKind::Softmax, {Value::of_int(4)}, {scores});
  PlanValueId y = w.run(OpKind::Matmul, {plain()}, {weights, v, kNoValue, kNoValue});
  w.output("y", w.run(OpKind::Reshape, {Value::of_ints({2, 6, 7, 8})}, {y}));
  return w.finish();
}

bool always(const Plan&, const PlanStep&) { return true; }
int found(const Plan& plan) {
  int count = 0;
  Plan open = cuda::expand_maps_before_softmax(plan).plan;
  for (const PlanStep& step : cuda::fuse_attention(open, always).plan.steps)
    count += cuda::is_attention(step);
  return count;
}

TEST(Attention, IsFoundAsModelsSpellIt) {
  EXPECT_EQ(found(attention()), 1);
  EXPECT_EQ(found(attention({.scaled = false})), 1);
  EXPECT_EQ(found(attention({.divided = true})), 1);
  EXPECT_EQ(found(attention({.twice_turned = true})), 1);
  EXPECT_EQ(found(attention({.joined = false})), 1);
  EXPECT_EQ(found(attention({.scores_read = true})), 0) << "somebody wants the scores";
  EXPECT_EQ(found(attention({.axis = 2})), 0);
  for (Hidden hidden : {Hidden::ByRow, Hidden::ByPlace, Hidden::ByCondition, Hidden::BySum,
                        Hidden::InMap, Hidden::Causal, Hidden::CausalSum})
    EXPECT_EQ(found(attention({.hidden = hidden})), 0) << "a mask, which the library gets wrong";
  auto kept = cuda::fuse_attention(attention(), [](const Plan&, const PlanStep&) { return false; });
  EXPECT_EQ(kept.plan.steps.size(), attention().steps.size());
}

/// The attention operator has a mask and is decomposed.
TEST(Attention, TheOperatorIsTakenApart) {
  for (bool seen : {false, true}) {
    PlanWriter w;
    PlanValueId mask = w.input("mask", {2, 1, 1, 7});
    PlanValueId condition = kNoValue;
    if (seen)
      condition =
          w.load(OpKind::GreaterEqual, {},
                 {w.constant({5, 1}, {2, 3, 4, 5, 6}), w.constant({7}, {0, 1, 2, 3, 4, 5, 6})});
    PlanValueId keys =
        w.run(OpKind::Transpose, {Value::of_ints({0, 1, 3, 2})}, {w.input("k", {2, 3, 7, 8})});
    PlanValueId y = w.run(OpKind::Attention, {Value::of_float(-1e9)},
                          {w.input("q", {2, 3, 5, 8}), keys, w.input("v", {2, 3, 7, 8}),
                           seen ? kNoValue : mask, condition});
    w.output("y", y);
    Plan pieces = cuda::expand_operators(w.finish()).plan;
    EXPECT_EQ(verify(pieces), "");
    std::vector<OpKind> ops;
    for (const PlanStep& step : pieces.steps)
      if (step.phase == Phase::Run) ops.push_back(step.op);
    EXPECT_EQ(ops, (std::vector<OpKind>{OpKind::Transpose, OpKind::Matmul,
                                        seen ? OpKind::Select : OpKind::Add, OpKind::Softmax,
                                        OpKind::Matmul}));
    EXPECT_EQ(found(pieces), 0);
  }
}

TEST(Attention, ReadsAndWritesThroughTransposes) {
  cuda::EditedPlan fused = cuda::fuse_attention(attention({.twice_turned = true}), always);
  EXPECT_EQ(fused.plan.steps.size(), 5u) << "three reshapes, the attention, a reshape";
  for (const PlanStep& step : fused.plan.steps)
    if (cuda::is_attention(step)) {
      EXPECT_EQ(cuda::attention_problem(fused.plan, step).graph.text(),
                "t3 = attention(t0, t1, t2, t4); t0: f32[2, 3, 5, 8] strides 120x8x24x1; "
                "t1: f32[2, 3, 7, 8] strides 168x8x24x1; "
                "t2: f32[2, 3, 7, 8] strides 168x8x24x1; "
                "t3: f32[2, 3, 5, 8] strides 120x8x24x1; "
                "t4: f32[1, 1, 1, 1] strides 1x1x1x1 = 2.50000000e-01");
    }
}

TEST(Attention, HeadsMayShareKeysAndValues) {
  Plan plan = cuda::fuse_attention(in_groups(false), always).plan;
  ASSERT_EQ(llvm::count_if(plan.steps, cuda::is_attention), 1);
  for (const PlanStep& step : plan.steps) {
    if (!cuda::is_attention(step)) continue;
    std::string text = cuda::attention_problem(plan, step).graph.text();
    EXPECT_NE(text.find("t0: f32[2, 6, 7, 8] strides 336x8x48x1"), std::string::npos) << text;
    EXPECT_NE(text.find("t2: f32[2, 2, 7, 8] strides 112x8x16x1"), std::string::npos) << text;
  }
  EXPECT_EQ(found(in_groups(true)), 0);
}

struct OnFakes : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  SourceCompiler compiler;
  cuda::CubinCache cache{"", compiler};
  cuda::ExecutableLibraries libraries;
  void SetUp() override {
    FakeCudnn::reset();
    libraries.dnn = std::move(*cuda::Cudnn::over(FakeCudnn::api()));
    log.takes = [](const std::string& call) { return call == "record" ? 0.0 : 1000.0; };
  }
  /// Runs the plan, compares it with `ref`, and returns the steps as "op=implementation".
  std::string run(const Plan& plan) {
    auto made = cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log), cache,
                                           libraries);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    if (!made) return "";
    std::string names;
    for (const StepInfo& step : (*made)->steps())
      if (step.implementation != "view") names += step.name + "=" + step.implementation + " ";
    auto got = (*made)->run(*random_inputs(plan, 7));
    EXPECT_TRUE(got.ok());
    if (!got) return "";
    EXPECT_LE(max_rel_diff((*got)[0], by_ref(plan, 7)[0]), 1e-5);
    return names;
  }
};

TEST_F(OnFakes, AttentionAgreesWithRef) {
  for (const Spelling& how : {Spelling{}, Spelling{.divided = true, .twice_turned = true},
                              Spelling{.scaled = false}, Spelling{.joined = false}})
    EXPECT_EQ(run(attention(how)), "attention=cudnn:engine 2:nchw ");
  EXPECT_EQ(run(in_groups(false)), "attention=cudnn:engine 2:nchw ");
}

/// Without a mask the library refuses the graph. With a mask it is not called.
TEST_F(OnFakes, AttentionThatTheLibraryDoesNotRunIsProductsAndOneSoftmax) {
  FakeCudnn::refuses = true;
  for (Hidden hidden : {Hidden::None, Hidden::ByRow, Hidden::ByPlace, Hidden::ByCondition,
                        Hidden::BySum, Hidden::InMap, Hidden::Causal, Hidden::CausalSum}) {
    Plan plan = attention({.hidden = hidden, .joined = false});
    Plan open = cuda::expand_maps_before_softmax(plan).plan;
    library.compile(sources_of(generate_all(open, [](const PlanStep&) { return false; })));
    std::string names = run(plan);
    EXPECT_EQ(names.find("(attention: cuDNN has no engine: ") != std::string::npos,
              hidden == Hidden::None)
        << names;
    EXPECT_EQ(names.find("attention="), std::string::npos) << names;
    EXPECT_EQ(llvm::StringRef(names).count("softmax"), 1u) << names;
  }
}

} // namespace
} // namespace tg::test
