// Attention found in plans and run as one operation, on a cuDNN and a GPU that record.
#include "runtime/cuda/attention.h"

#include "runtime/cuda/executable.h"
#include "tests/unit/cuda/fake_cudnn.h"
#include "tests/unit/cuda/fake_gpu.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

Value plain() { return Value::of_enum("none"); }

struct Spelling {
  bool scaled = true, divided = false, twice_turned = false, scores_read = false, joined = true;
  int64_t axis = 3;
};

/// Two images' worth of three heads over places, split off and joined as the standard library does.
Plan attention(const Spelling& how = {}) {
  PlanWriter w;
  Value split = Value::of_ints({0, 2, 1, 3});
  auto heads = [&](const char* name, int64_t places) {
    PlanValueId x = w.input(name, {2, places, 24});
    return w.run(OpKind::Reshape, {Value::of_ints({2, places, 3, 8})}, {x});
  };
  PlanValueId q = w.run(OpKind::Transpose, {split}, {heads("q", 5)}), keys;
  if (how.twice_turned)
    keys = w.run(OpKind::Transpose, {Value::of_ints({0, 1, 3, 2})},
                 {w.run(OpKind::Transpose, {split}, {heads("k", 7)})});
  else
    keys = w.run(OpKind::Transpose, {Value::of_ints({0, 2, 3, 1})}, {heads("k", 7)});
  PlanValueId v = w.run(OpKind::Transpose, {split}, {heads("v", 7)});
  PlanValueId scores = w.run(OpKind::Matmul, {plain()}, {q, keys, kNoValue, kNoValue});
  if (how.scores_read) w.output("scores", scores);
  PlanValueId factor = w.constant({}, {how.divided ? 4 : 0.25});
  if (how.scaled) scores = w.run(how.divided ? OpKind::Div : OpKind::Mul, {}, {scores, factor});
  PlanValueId weights = w.run(OpKind::Softmax, {Value::of_int(how.axis)}, {scores});
  PlanValueId y = w.run(OpKind::Matmul, {plain()}, {weights, v, kNoValue, kNoValue});
  if (how.joined)
    y = w.run(OpKind::Reshape, {Value::of_ints({2, 5, 24})},
              {w.run(OpKind::Transpose, {split}, {y})});
  w.output("y", y);
  return w.finish();
}

bool always(const Plan&, const PlanStep&) { return true; }
int found(const Plan& plan) {
  int count = 0;
  for (const PlanStep& step : cuda::fuse_attention(plan, always).plan.steps)
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
  auto kept = cuda::fuse_attention(attention(), [](const Plan&, const PlanStep&) { return false; });
  EXPECT_EQ(kept.plan.steps.size(), attention().steps.size());
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

TEST(Attention, AgreesWithRef) {
  FakeCudnn::reset();
  cuda::ExecutableLibraries libraries;
  libraries.dnn = std::move(*cuda::Cudnn::over(FakeCudnn::api()));
  for (const Spelling& how : {Spelling{}, Spelling{.divided = true, .twice_turned = true},
                              Spelling{.scaled = false}, Spelling{.joined = false}}) {
    Plan plan = attention(how);
    CppLibrary library;
    FakeGpuLog log;
    log.takes = [](const std::string& call) { return call == "record" ? 0.0 : 1000.0; };
    SourceCompiler compiler;
    cuda::CubinCache cache{"", compiler};
    auto made = cuda::CudaExecutable::make(plan, {}, std::make_unique<FakeGpu>(library, log), cache,
                                           libraries);
    ASSERT_TRUE(made.ok()) << made.error().message;
    std::string names;
    for (const StepInfo& step : (*made)->steps())
      if (step.implementation != "view") names += step.name + "=" + step.implementation + " ";
    EXPECT_EQ(names, "attention=cudnn:engine 2:nchw ");
    auto got = (*made)->run(*random_inputs(plan, 7));
    ASSERT_TRUE(got.ok());
    EXPECT_LE(max_rel_diff((*got)[0], by_ref(plan, 7)[0]), 1e-5);
  }
}

} // namespace
} // namespace tg::test
