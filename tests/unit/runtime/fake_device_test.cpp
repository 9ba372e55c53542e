#include "tests/unit/runtime/fake_device.h"

#include "runtime/random.h"
#include "runtime/ref/backend.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg {
namespace {

/// A diamond of two chains, with streams and events as a device backend assigns them.
/// `streams` = 1 gives the same model without them.
Plan diamond(uint32_t streams) {
  PlanWriter p;
  bool two = streams == 2;
  PlanValueId x = p.input("x", {8, 8}), w = p.weight("w", {8, 8});
  PlanValueId root = p.run(OpKind::Matmul, {Value::of_enum("relu")}, {x, w, kNoValue, kNoValue});
  if (two) p.last().signals = {0};
  PlanValueId left = p.run(OpKind::Tanh, {}, {root});
  PlanValueId right =
      p.run(OpKind::Matmul, {Value::of_enum("none")}, {root, w, kNoValue, kNoValue});
  if (two) p.last().stream = 1, p.last().waits = {0};
  left = p.run(OpKind::Mul, {}, {left, left});
  right = p.run(OpKind::Sigmoid, {}, {right});
  if (two) p.last().stream = 1, p.last().signals = {1};
  PlanValueId sum = p.run(OpKind::Add, {}, {left, right});
  if (two) p.last().waits = {1};
  p.output("sum", p.run(OpKind::Softmax, {Value::of_int(1)}, {sum}));
  p.unfinished().streams = streams;
  p.unfinished().events = two ? 2 : 0;
  return p.finish();
}

Tensor run_ref(const Plan& plan, const std::vector<Tensor>& inputs) {
  auto executable = make_ref_backend()->compile(plan, {});
  EXPECT_TRUE(executable);
  return (**executable).run(inputs)->front();
}

TEST(FakeDevice, EveryOrderThatEventsAllowGivesTheSameResult) {
  std::vector<Tensor> inputs = *random_inputs(diamond(1), 5);
  Tensor want = run_ref(diamond(1), inputs);
  for (uint32_t streams : {1u, 2u}) {
    FakeExecutable device(diamond(streams), 17);
    ASSERT_TRUE(device.load({}).ok());
    ASSERT_TRUE(device.bind_inputs(inputs).ok());
    for (int run = 0; run < 100; ++run) { // captured once, replayed
      ASSERT_TRUE(device.run_once().ok());
      ASSERT_EQ(max_rel_diff(device.outputs()->front(), want), 0) << "run " << run;
    }
  }
}

TEST(FakeDevice, ADeviceThatIgnoresEventsIsCaught) {
  std::vector<Tensor> inputs = *random_inputs(diamond(1), 5);
  Tensor want = run_ref(diamond(1), inputs);
  FakeExecutable device(diamond(2), 17);
  device.ignores_events = true;
  ASSERT_TRUE(device.load({}).ok());
  ASSERT_TRUE(device.bind_inputs(inputs).ok());
  int wrong = 0;
  for (int run = 0; run < 100; ++run) {
    ASSERT_TRUE(device.run_once().ok());
    wrong += max_rel_diff(device.outputs()->front(), want) != 0;
  }
  EXPECT_GT(wrong, 0);
}

TEST(FakeDevice, StreamsThatWaitForEachOtherAreReported) {
  Plan plan = diamond(2);
  plan.steps[0].waits = {1}; // recorded only at the end
  EXPECT_NE(verify(plan), "");
  FakeExecutable device(plan, 17);
  ASSERT_TRUE(device.load({}).ok());
  EXPECT_EQ(device.run_once().error().code, Code::device);
}

TEST(FakeDevice, OneArenaServesOneStreamAndNothingIsReusedAcrossStreams) {
  FakeExecutable one(diamond(1), 17), two(diamond(2), 17);
  ASSERT_TRUE(one.load({}).ok() && two.load({}).ok());
  EXPECT_LT(one.memory().arena, two.memory().arena);
  EXPECT_EQ(two.memory().arena, 7 * 256);
}

} // namespace
} // namespace tg
