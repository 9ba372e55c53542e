#include "tests/unit/runtime/plan_writer.h"

#include <functional>

namespace tg {
namespace {

/// relu(x) + scale(w) -> softmax; `scale` is a load step.
Plan small_plan() {
  PlanWriter p;
  PlanValueId x = p.input("x", {2, 3}), w = p.weight("w", {3}), two = p.constant({}, {2});
  PlanValueId scaled = p.load(OpKind::Mul, {}, {w, two});
  PlanValueId positive = p.run(OpKind::Relu, {}, {x});
  PlanValueId sum = p.run(OpKind::Add, {}, {positive, scaled});
  p.in_place(positive);
  p.output("y", p.run(OpKind::Softmax, {Value::of_int(1)}, {sum}));
  p.in_place(sum);
  return p.finish();
}

TEST(Plan, DumpIsOneStepALine) {
  EXPECT_EQ(dump(small_plan()), "plan test\n"
                                "%0 = input x : f32[2, 3]\n"
                                "%1 = weight w : f32[3]\n"
                                "%2 = constant [2.0] : f32\n"
                                "load %3 = mul(%1, %2) : f32[3]\n"
                                "run %4 = relu(%0) : f32[2, 3]\n"
                                "run %5 = add(%4, %3) : f32[2, 3] in place of %4\n"
                                "run %6 = softmax(%5) {axis = 1} : f32[2, 3] in place of %5\n"
                                "output y = %6\n");
}

TEST(Plan, VerifyFindsEachFault) {
  struct Fault {
    const char* says;
    std::function<void(Plan&)> make;
  };
  const Fault faults[] = {
      {"before it is defined",
       [](Plan& p) { std::swap(p.steps[1].operands, p.steps[2].operands); }},
      {"which only a run has", [](Plan& p) { p.steps[0].operands[0] = 0; }},
      {"comes after a run step", [](Plan& p) { p.steps[2].phase = Phase::Load; }},
      {"does not define its result", [](Plan& p) { p.steps[1].result = 6; }},
      {"which lives on", [](Plan& p) { p.steps[2].in_place = 3; }},
      {"does not read", [](Plan& p) { p.steps[3].in_place = 4; }},
      {"last use of %0 is wrong", [](Plan& p) { p.values[0].last_use = 3; }},
      {"%3 must be pinned", [](Plan& p) { p.values[3].pinned = false; }},
      {"names no output value", [](Plan& p) { p.outputs[0].value = 5; }},
      {"is not of kind Input", [](Plan& p) { p.inputs[0] = 1; }},
      {"has 0 attributes", [](Plan& p) { p.steps[3].attrs.clear(); }},
      {"is a leaf", [](Plan& p) { p.steps[1].op = OpKind::Weight; }},
      {"the constant %2 has 2 values",
       [](Plan& p) {
         p.values[2].constant = {1, 2};
       }},
      {"is on no stream", [](Plan& p) { p.steps[1].stream = 1; }},
      {"which nothing has recorded", [](Plan& p) { p.events = 1, p.steps[1].waits = {0}; }},
      {"records no event", [](Plan& p) { p.steps[1].signals = {0}; }},
  };
  for (const Fault& fault : faults) {
    Plan plan = small_plan();
    ASSERT_EQ(verify(plan), "");
    fault.make(plan);
    EXPECT_NE(verify(plan).find(fault.says), std::string::npos)
        << "wanted: " << fault.says << "\n   got: " << verify(plan);
  }
}

/// a and b read the relu of x on two streams. a overwrites it.
Plan two_streams() {
  PlanWriter p;
  PlanValueId x = p.input("x", {4});
  PlanValueId r = p.run(OpKind::Relu, {}, {x});
  p.last().signals = {0};
  PlanValueId b = p.run(OpKind::Exp, {}, {r});
  p.last().stream = 1;
  p.last().waits = {0};
  p.last().signals = {1};
  PlanValueId a = p.run(OpKind::Neg, {}, {r});
  p.in_place(r);
  p.last().waits = {1};
  p.output("sum", p.run(OpKind::Add, {}, {a, b}));
  p.unfinished().streams = 2;
  p.unfinished().events = 2;
  return p.finish();
}

TEST(Plan, StreamsMustBeOrderedByEvents) {
  Plan plan = two_streams();
  plan.steps[1].waits.clear();
  EXPECT_NE(verify(plan).find("does not wait for step 0, whose result it reads"), std::string::npos)
      << verify(plan);
  plan = two_streams();
  plan.steps[2].waits.clear();
  EXPECT_NE(verify(plan).find("overwrites %1 while step 1 may read it"), std::string::npos)
      << verify(plan);
}

} // namespace
} // namespace tg
