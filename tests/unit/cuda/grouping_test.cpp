// Tests the prediction of launches without a device: products and convolutions run
// in libraries, the other steps as the generator fuses them.
#include "runtime/cuda/grouping.h"

#include "tests/unit/runtime/plan_writer.h"

#include <gtest/gtest.h>

namespace tg::test {
namespace {

using Kind = cuda::Unit::Kind;

std::vector<Kind> kinds_of(const Plan& plan) {
  auto grouped = cuda::group_plan(plan);
  EXPECT_TRUE(grouped.ok());
  EXPECT_EQ(grouped->origin.size(), grouped->plan.steps.size());
  std::vector<Kind> kinds;
  for (const cuda::Unit& unit : grouped->units) kinds.push_back(unit.kind);
  return kinds;
}

PlanValueId product(PlanWriter& w, PlanValueId x, const char* weight, Shape shape,
                    const char* act = "none") {
  return w.run(OpKind::Matmul, {Value::of_enum(act)},
               {x, w.weight(weight, shape), kNoValue, kNoValue});
}

PlanValueId convolution(PlanWriter& w, PlanValueId x, Shape weight, const char* act) {
  return w.run(
      OpKind::Conv2d,
      {Value::of_ints({1, 1}), Value::of_ints({1, 1}), Value::of_ints({1, 1}), Value::of_enum(act)},
      {x, w.weight("w", weight), kNoValue, kNoValue});
}

TEST(Grouping, PointwiseStepsAreOneKernelAndProductsTheLibrarys) {
  PlanWriter w;
  PlanValueId x = product(w, w.input("x", {8, 16}), "u", {16, 32});
  x = w.run(OpKind::Exp, {}, {w.run(OpKind::Tanh, {}, {x})});
  w.output("y", product(w, x, "v", {32, 4}));
  EXPECT_EQ(kinds_of(w.finish()),
            (std::vector<Kind>{Kind::Library, Kind::Generated, Kind::Library}));
}

TEST(Grouping, SplitsOffActivationsThatTheLibraryLacks) {
  PlanWriter w;
  PlanValueId x = product(w, w.input("x", {8, 16}), "u", {16, 32}, "gelu");
  w.output("y", w.run(OpKind::Tanh, {}, {x}));
  EXPECT_EQ(kinds_of(w.finish()), (std::vector<Kind>{Kind::Library, Kind::Generated}));
  PlanWriter relu;
  relu.output("y", product(relu, relu.input("x", {8, 16}), "u", {16, 32}, "relu"));
  EXPECT_EQ(kinds_of(relu.finish()), (std::vector<Kind>{Kind::Library}));
}

TEST(Grouping, ProductsReadThroughTransposes) {
  PlanWriter w;
  PlanValueId x = w.run(OpKind::Transpose, {Value::of_ints({1, 0})}, {w.input("x", {16, 8})});
  w.output("y", product(w, x, "u", {16, 32}));
  Plan plan = w.finish();
  EXPECT_EQ(kinds_of(plan), (std::vector<Kind>{Kind::Library}));
  auto grouped = cuda::group_plan(plan);
  const PlanStep& launched = grouped->plan.steps[grouped->units[0].group.steps[0]];
  const PlanStep& before = grouped->before.steps[grouped->origin[0]];
  EXPECT_EQ(before.op, OpKind::Matmul);
  EXPECT_NE(launched.operands[0], before.operands[0]);
}

TEST(Grouping, ConvolutionsOfFewTermsAreGeneratedAndFuse) {
  for (bool dense : {true, false}) {
    PlanWriter w;
    PlanValueId x = convolution(w, w.input("x", {1, 32, 8, 8}),
                                dense ? Shape{32, 32, 3, 3} : Shape{32, 1, 3, 3}, "none");
    w.output("y", w.run(OpKind::Tanh, {}, {x}));
    std::vector<Kind> wanted = {Kind::Generated};
    if (dense) wanted.insert(wanted.begin(), Kind::Library);
    EXPECT_EQ(kinds_of(w.finish()), wanted);
  }
  PlanWriter w;
  w.output("y", convolution(w, w.input("x", {1, 32, 8, 8}), {8, 32, 3, 3}, "relu6"));
  EXPECT_EQ(kinds_of(w.finish()), (std::vector<Kind>{Kind::Library, Kind::Generated}));
}

TEST(Grouping, AnOperatorWithoutKernelIsAnError) {
  PlanWriter w;
  w.output("y", w.run(OpKind::Tanh, {}, {w.input("x", {4})}));
  Plan plan = w.finish();
  plan.steps[0].op = OpKind::Extern;
  plan.steps[0].attrs = {Value::of_enum("own")};
  EXPECT_FALSE(cuda::group_plan(plan).ok());
}

} // namespace
} // namespace tg::test
