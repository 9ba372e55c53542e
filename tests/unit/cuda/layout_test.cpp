// Tests layouts by region: the choice against all other choices under invented prices,
// the execution of the plan with its conversions, and rewritten convolutions.
#include "runtime/cuda/codegen/layout.h"

#include "runtime/cuda/cudnn/conv_lowering.h"
#include "runtime/cuda/cudnn/problem.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/runtime/plan_writer.h"

#include <random>

namespace tg::test {
namespace {

using cuda::LayoutPrices;

std::vector<Value> conv_attrs(const char* act = "none", int64_t stride = 1) {
  return {Value::of_ints({stride, stride}), Value::of_ints({1, 1}), Value::of_ints({1, 1}),
          Value::of_enum(act)};
}

struct Network {
  PlanWriter writer;
  int weights = 0;
  PlanValueId conv(PlanValueId x, int64_t from, int64_t to, PlanValueId residual = kNoValue) {
    PlanValueId w = writer.weight(("w" + std::to_string(weights++)).c_str(), {to, from, 3, 3});
    return writer.run(OpKind::Conv2d, conv_attrs(), {x, w, kNoValue, residual});
  }
};

/// Two convolutions with a relu between them.
Plan chain() {
  Network n;
  PlanValueId x = n.writer.input("x", {1, 4, 6, 6});
  x = n.conv(x, 4, 8);
  x = n.writer.run(OpKind::Relu, {}, {x});
  n.writer.output("y", n.conv(x, 8, 4));
  return n.writer.finish();
}

LayoutPrices prices(double last, double first, double conversion) {
  return {[=](const PlanStep&, bool channels_last) -> std::optional<double> {
            return channels_last ? last : first;
          },
          [=](const TensorType&) { return conversion; }};
}

int chosen(const Plan& plan, const std::vector<bool>& last) {
  int count = 0;
  for (const PlanStep& step : plan.steps) count += last[step.result];
  return count;
}

TEST(Layout, PaysForConversionsWhereConvolutionsGainMore) {
  Plan plan = chain();
  auto last = cuda::choose_layouts(plan, prices(1, 10, 2));
  EXPECT_EQ(chosen(plan, last), 3) << "both convolutions and the operators between them";
  EXPECT_TRUE(last[plan.steps[0].operands[1]])
      << "the kernel has the layout that its reader requires";
  auto laid = cuda::assign_layouts(plan, last);
  EXPECT_EQ(verify(laid.edited.plan), "");
  EXPECT_EQ(laid.conversions, 2) << "of the input and of the output";
  EXPECT_EQ(laid.regions, 1);
  EXPECT_EQ(laid.edited.origin, (std::vector<PlanStepId>{kNever, 0, 1, 2, kNever}));

  EXPECT_EQ(chosen(plan, cuda::choose_layouts(plan, prices(1, 10, 20))), 0);
  EXPECT_EQ(chosen(plan, cuda::choose_layouts(plan, prices(10, 1, 0))), 0);
}

TEST(Layout, ALayoutThatTheLibraryLacksIsNotChosen) {
  Plan plan = chain();
  LayoutPrices p = prices(1, 1, 1);
  p.convolution = [](const PlanStep&, bool last) { return last ? std::optional<double>() : 9.0; };
  EXPECT_EQ(chosen(plan, cuda::choose_layouts(plan, p)), 0);
  p.convolution = [](const PlanStep&, bool last) {
    return last ? std::optional(9.0) : std::nullopt;
  };
  EXPECT_EQ(chosen(plan, cuda::choose_layouts(plan, p)), 3);
  p.convolution = [](const PlanStep&, bool) { return std::optional<double>(); };
  EXPECT_EQ(chosen(plan, cuda::choose_layouts(plan, p)), 0);
}

TEST(Layout, RegionsAreApartWhereSomethingBetweenKnowsOneLayout) {
  Network n;
  PlanValueId x = n.writer.input("x", {1, 4, 6, 6});
  x = n.conv(x, 4, 4);
  x = n.writer.run(OpKind::Reshape, {Value::of_ints({1, 9, 4, 4})}, {x});
  n.writer.output("y", n.conv(x, 9, 4));
  Plan plan = n.writer.finish();
  auto laid = cuda::assign_layouts(plan, cuda::choose_layouts(plan, prices(1, 10, 2)));
  EXPECT_EQ(laid.regions, 2);
  EXPECT_EQ(laid.conversions, 4);
  EXPECT_EQ(verify(laid.edited.plan), "");
}

/// Returns the value that the chooser minimises, for any labels of the values.
double energy(const Plan& plan, const std::vector<bool>& last, const LayoutPrices& p) {
  double sum = 0;
  auto image = [&](PlanValueId id) {
    return id != kNoValue && plan.values[id].type.shape.size() == 4;
  };
  auto turn = [&](PlanValueId id) { return p.conversion(plan.values[id].type); };
  for (const PlanStep& step : plan.steps) {
    bool conv = step.op == OpKind::Conv2d;
    if (conv) sum += *p.convolution(step, last[step.result]);
    for (size_t i = 0; i < step.operands.size(); ++i) {
      PlanValueId id = step.operands[i];
      if (!image(id) || (conv && i == 1) || last[id] == last[step.result]) continue;
      sum += conv ? turn(id) : std::min(turn(id), turn(step.result));
    }
  }
  for (const PlanOutput& output : plan.outputs) sum += last[output.value] ? turn(output.value) : 0;
  return sum;
}

TEST(Layout, IsTheCheapestOfAllChoices) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    Network n;
    std::vector<PlanValueId> images = {n.writer.input("x", {1, 4, 4, 4})};
    for (int i = 0; i < 7; ++i) {
      PlanValueId a = images[random() % images.size()], b = images[random() % images.size()];
      switch (random() % 3) {
      case 0: images.push_back(n.conv(a, 4, 4, random() % 2 ? b : kNoValue)); break;
      case 1: images.push_back(n.writer.run(OpKind::Add, {}, {a, b})); break;
      default: images.push_back(n.writer.run(OpKind::Relu, {}, {a})); break;
      }
    }
    n.writer.output("y", images.back());
    Plan plan = n.writer.finish();
    std::map<std::pair<PlanValueId, bool>, double> price;
    for (const PlanStep& step : plan.steps)
      for (bool last : {false, true})
        price[{step.result, last}] = static_cast<double>(random() % 100);
    LayoutPrices p{[&](const PlanStep& step, bool last) -> std::optional<double> {
                     return price.at({step.result, last});
                   },
                   [](const TensorType&) { return 15.0; }};
    double got = energy(plan, cuda::choose_layouts(plan, p), p), least = 1e9;
    for (size_t bits = 0; bits < size_t{1} << plan.steps.size(); ++bits) {
      std::vector<bool> last(plan.values.size());
      for (size_t s = 0; s < plan.steps.size(); ++s) last[plan.steps[s].result] = bits >> s & 1;
      least = std::min(least, energy(plan, last, p));
    }
    EXPECT_NEAR(got, least, 1e-9) << "seed " << seed << "\n" << dump(plan);
  }
}

/// Passes the table to generate_all, which takes a plain function.
std::vector<bool>* table = nullptr;
cuda::StridesOf by_table(const Plan& plan) { return cuda::strides_of(plan, *table); }

TEST(Layout, PlansWithConversionsComputeTheSame) {
  Plan plan = chain();
  std::vector<bool> last = cuda::choose_layouts(plan, prices(1, 10, 2));
  for (PlanValueId id = 0; id < last.size(); ++id) // weights are row-major in the fake
    if (plan.values[id].kind == PlanValue::Kind::Weight) last[id] = false;
  auto laid = cuda::assign_layouts(plan, last);
  table = &laid.channels_last;
  Generated g = generate_all(
      laid.edited.plan, [](const PlanStep&) { return false; }, by_table);
  CppLibrary library;
  library.compile(sources_of(g));
  EXPECT_LE(difference(g, library), 1e-5);
  EXPECT_LE(max_rel_diff(by_ref(plan, 7)[0], by_ref(laid.edited.plan, 7)[0]), 0);
}

TEST(ConvLowering, WinogradBecomesTheConvolutionItWasMadeFrom) {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 4, 8, 8}), kernel = w.weight("w", {4, 4, 3, 3});
  PlanValueId u = w.load(OpKind::WinogradWeight, {Value::of_int(4)}, {kernel});
  Value pad = Value::of_ints({1, 1});
  PlanValueId y = w.run(OpKind::WinogradConv2d, {pad, Value::of_enum("relu")},
                        {x, u, w.weight("b", {4}), kNoValue});
  w.output("y", w.run(OpKind::WinogradConv2d, {pad, Value::of_enum("none")}, {y, u, kNoValue, x}));
  Plan plan = w.finish();
  cuda::EditedPlan lowered = cuda::lower_winograd(plan);
  EXPECT_EQ(verify(lowered.plan), "");
  ASSERT_EQ(lowered.plan.steps.size(), 2u) << "nothing transforms the kernel any more";
  EXPECT_EQ(lowered.plan.steps[0].op, OpKind::Conv2d);
  EXPECT_EQ(lowered.plan.values[lowered.plan.steps[1].operands[1]].name, "w");
  EXPECT_EQ(lowered.origin, (std::vector<PlanStepId>{1, 2}));
  EXPECT_LE(max_rel_diff(by_ref(lowered.plan, 7)[0], by_ref(plan, 7)[0]), 1e-4);
}

TEST(ConvLowering, AKernelThatIsGivenTransformedStays) {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 4, 8, 8}), u = w.weight("u", {16, 4, 4});
  w.output("y", w.run(OpKind::WinogradConv2d, {Value::of_ints({1, 1}), Value::of_enum("none")},
                      {x, u, kNoValue, kNoValue}));
  EXPECT_EQ(cuda::lower_winograd(w.finish()).plan.steps[0].op, OpKind::WinogradConv2d);
}

TEST(ConvLowering, CutsActivations) {
  Network n;
  PlanValueId x = n.writer.input("x", {1, 4, 6, 6}), w = n.writer.weight("w", {4, 4, 3, 3});
  for (const char* act : {"gelu", "relu6"})
    x = n.writer.run(OpKind::Conv2d, conv_attrs(act), {x, w, kNoValue, kNoValue});
  n.writer.output("y", x);
  Plan plan = n.writer.finish();
  cuda::EditedPlan cut = cuda::cut_activations(
      plan, [](const PlanStep& step) { return step.attrs[3].text == "gelu"; });
  EXPECT_EQ(verify(cut.plan), "");
  ASSERT_EQ(cut.plan.steps.size(), 3u);
  EXPECT_EQ(cut.plan.steps[1].op, OpKind::Gelu);
  EXPECT_EQ(cut.origin, (std::vector<PlanStepId>{0, 0, 1}));
  EXPECT_LE(max_rel_diff(by_ref(cut.plan, 7)[0], by_ref(plan, 7)[0]), 1e-6);
}

} // namespace
} // namespace tg::test
