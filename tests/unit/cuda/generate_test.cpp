// Tests the kernel generator on the processor: random networks over all operators against `ref`,
// and the form of kernels whose speed depends on it.
#include "compiler/emit/plan_from_graph.h"
#include "tests/property/backends/every_pointwise.h"
#include "tests/property/backends/random_graph.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/ADT/StringRef.h>

#include <limits>

namespace tg::test {
namespace {

bool winograd(const PlanStep& step) {
  return step.op == OpKind::WinogradConv2d || step.op == OpKind::WinogradWeight;
}

TEST(Generate, RandomNetworksAgreeWithRef) {
  std::vector<Generated> networks;
  std::vector<cuda::KernelSource> sources;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomGraph random(seed, 12, Operators::Generated);
    networks.push_back(generate_all(plan_from_graph(random.graph), winograd));
    for (const cuda::KernelSource& source : sources_of(networks.back())) sources.push_back(source);
  }
  CppLibrary library;
  library.compile(sources);
  for (size_t i = 0; i < networks.size(); ++i)
    EXPECT_LE(difference(networks[i], library), 1e-4)
        << "seed " << i << "\n"
        << dump(networks[i].plan) << texts(networks[i]);
}

/// Includes operators that have a formula and no function in the prelude.
/// No operator is listed by name.
TEST(Generate, EveryPointwiseOperatorAgreesWithRef) {
  std::vector<PointwiseCase> cases = every_pointwise();
  llvm::erase_if(cases, [](const PointwiseCase& one) { return one.dtype == DType::F64; });
  std::vector<Generated> generated;
  std::vector<cuda::KernelSource> sources;
  for (const PointwiseCase& one : cases) {
    generated.push_back(
        generate_all(plan_from_graph(one.graph), [](const PlanStep&) { return false; }));
    for (const cuda::KernelSource& source : sources_of(generated.back())) sources.push_back(source);
  }
  CppLibrary library;
  library.compile(sources);
  for (size_t i = 0; i < cases.size(); ++i) {
    auto want = by_ref(generated[i].plan, 7), got = HostRun(generated[i], library).outputs(7);
    EXPECT_EQ(disagreement(got[0], want[0], cases[i]), "") << cases[i].name;
  }
}

/// x / y rounds up to a whole number, below and above zero; y may be infinite.
TEST(Generate, RestsOfDivisionsAreExact) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> x, y;
  for (double whole = 1; whole < 20; ++whole)
    for (double part : {0.1, -0.1, 0.7, 3.0, kInfinity, -kInfinity})
      for (double sign : {1, -1}) {
        x.push_back(sign * whole / 10);
        y.push_back(part);
      }
  auto count = static_cast<int64_t>(x.size());
  PlanWriter w;
  PlanValueId zero = w.run(OpKind::Mul, {}, {w.input("x", {count}), w.constant({}, {0})});
  PlanValueId numbers = w.run(OpKind::Add, {}, {zero, w.constant({count}, x)});
  w.output("y", w.run(OpKind::Mod, {}, {numbers, w.constant({count}, y)}));
  Generated g = generate_all(w.finish(), [](const PlanStep&) { return false; });
  CppLibrary library;
  library.compile(sources_of(g));
  auto want = by_ref(g.plan, 7), got = HostRun(g, library).outputs(7);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(reinterpret_cast<const float*>(got[0].data())[i],
              reinterpret_cast<const float*>(want[0].data())[i])
        << x[i] << " mod " << y[i];
}

/// Negative elements of an input become NaN. Each kernel keeps NaN exactly where the operator does.
TEST(Generate, NaNStaysNaN) {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 6, 8, 8}), nan = w.run(OpKind::Log, {}, {x});
  PlanValueId rows = w.input("rows", {24, 40}), broken = w.run(OpKind::Log, {}, {rows});
  PlanValueId weight = w.input("w", {40, 16}), filter = w.input("f", {3, 6, 2, 2});
  auto text = [](const char* name) { return Value::of_enum(name); };
  Value two = Value::of_ints({2, 2}), one = Value::of_ints({1, 1});
  for (OpKind op : {OpKind::Relu, OpKind::Relu6, OpKind::Sigmoid, OpKind::Tanh, OpKind::Gelu,
                    OpKind::Abs, OpKind::Sign, OpKind::Floor, OpKind::Sqrt})
    w.output(std::string(op_info(op).name).c_str(), w.run(op, {}, {nan}));
  for (OpKind op : {OpKind::Maximum, OpKind::Minimum}) {
    w.output(std::string(op_info(op).name).c_str(), w.run(op, {}, {nan, x}));
    w.output(std::string(op_info(op).name).c_str(), w.run(op, {}, {x, nan}));
  }
  w.output("clip", w.run(OpKind::Clip, {Value::of_float(-0.5), Value::of_float(0.5)}, {nan}));
  w.output("pool", w.run(OpKind::MaxPool2d, {two, two, text("valid")}, {nan}));
  w.output("most", w.run(OpKind::ReduceMax, {Value::of_ints({3}), Value::of_bool(false)}, {nan}));
  for (const char* act : {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"}) {
    w.output(act, w.run(OpKind::Matmul, {text(act)}, {broken, weight, kNoValue, kNoValue}));
    w.output(act, w.run(OpKind::Conv2d, {one, text("valid"), one, text(act)},
                        {nan, filter, kNoValue, kNoValue}));
  }
  Generated g = generate_all(w.finish(), [](const PlanStep&) { return false; });
  CppLibrary library;
  library.compile(sources_of(g));
  auto want = by_ref(g.plan, 7), got = HostRun(g, library).outputs(7);
  for (size_t k = 0; k < want.size(); ++k) {
    auto a = reinterpret_cast<const float*>(got[k].data()),
         b = reinterpret_cast<const float*>(want[k].data());
    int64_t nans = 0;
    for (int64_t i = 0; i < want[k].type().elements(); ++i) {
      EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << g.plan.outputs[k].name << ", " << i;
      nans += std::isnan(b[i]);
    }
    EXPECT_GT(nans, 0) << g.plan.outputs[k].name;
  }
}

/// Four adjacent elements belong to one piece, so that one condition selects it.
TEST(Generate, PiecesOfAConcatAreReadInPacks) {
  for (int64_t axis : {1, 2}) {
    PlanWriter w;
    PlanValueId both = w.run(OpKind::Concat, {Value::of_int(axis)},
                             {w.input("x", {2, 8, 12}), w.input("y", {2, 8, 12})});
    w.output("z", w.run(OpKind::Exp, {}, {both}));
    Generated g = generate_all(w.finish(), [](const PlanStep&) { return false; });
    ASSERT_EQ(g.units.size(), 1u);
    std::string text = texts(g);
    EXPECT_EQ(llvm::StringRef(text).count("tg_load_pack<4>"), 2u) << text;
    EXPECT_EQ(llvm::StringRef(text).count("tg_load("), 0u) << text;
    CppLibrary library;
    library.compile(sources_of(g));
    EXPECT_LE(difference(g, library), 1e-5) << text;
  }
}

/// Channels-last strides for images that only generated kernels access.
cuda::StridesOf channels_last(const Plan& plan) {
  return [&plan](PlanValueId id) {
    const PlanValue& v = plan.values[id];
    Shape plain = contiguous_strides(v.type.shape);
    bool inside = v.kind == PlanValue::Kind::Temporary && !v.is_output && !v.pinned &&
                  plan.steps[v.defined_by].phase == Phase::Run;
    if (!inside || v.type.shape.size() != 4) return plain;
    int64_t channels = v.type.shape[1], width = v.type.shape[3];
    return Shape{plain[0], 1, width * channels, channels};
  };
}

TEST(Generate, LayoutsOfValuesAreTheirOwn) {
  std::vector<Generated> networks;
  std::vector<cuda::KernelSource> sources;
  int moved = 0;
  auto libraries = [](const PlanStep& step) { return !cuda::can_generate(step.op); };
  for (uint64_t seed = 200; seed < 240; ++seed) {
    Plan plan = plan_from_graph(RandomGraph(seed, 12, Operators::Generated).graph);
    if (llvm::any_of(plan.steps, winograd)) continue; // `ref` runs it, and supports one layout only
    networks.push_back(generate_all(std::move(plan), libraries, channels_last));
    const Plan& made = networks.back().plan;
    for (const cuda::Unit& unit : networks.back().units)
      for (PlanValueId id : unit.group.results)
        moved += channels_last(made)(id) != contiguous_strides(made.values[id].type.shape);
    for (const cuda::KernelSource& source : sources_of(networks.back())) sources.push_back(source);
  }
  ASSERT_GE(networks.size(), 10u);
  ASSERT_GE(moved, 5);
  CppLibrary library;
  library.compile(sources);
  for (const Generated& network : networks)
    EXPECT_LE(difference(network, library), 1e-4) << dump(network.plan) << texts(network);
}

} // namespace
} // namespace tg::test
