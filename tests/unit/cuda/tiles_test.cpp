// Tests products and convolutions that no library runs: tiles of results through shared memory,
// executed on the processor against `ref`, and compiled for GPUs if NVRTC is installed.
#include "runtime/cuda/device/compile.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::test {
namespace {

bool none(const PlanStep&) { return false; }

struct Convolution {
  Shape x, w;
  int64_t stride = 1, pad = 0, dilation = 1;
  const char* act = "none";
  bool bias = false, residual = false;
};

PlanValueId convolve(PlanWriter& w, PlanValueId x, const Convolution& c, const char* name) {
  auto both = [](int64_t n) { return Value::of_ints({n, n}); };
  std::string path = name;
  auto conv = [&](const char* act, PlanValueId bias, PlanValueId residual) {
    return w.run(OpKind::Conv2d,
                 {both(c.stride), both(c.pad), both(c.dilation), Value::of_enum(act)},
                 {x, w.weight((path + ".w").c_str(), c.w), bias, residual});
  };
  PlanValueId residual =
      c.residual ? w.run(OpKind::Exp, {}, {conv("none", kNoValue, kNoValue)}) : kNoValue;
  return conv(c.act, c.bias ? w.weight((path + ".b").c_str(), {c.w[0]}) : kNoValue, residual);
}

/// Partial tiles at the edges, gaps, and steps fused before and after.
std::vector<Plan> networks() {
  std::vector<Plan> plans;
  for (const Convolution& c :
       {Convolution{{1, 3, 15, 17}, {20, 3, 3, 3}, 2, 1, 1, "relu", true},
        Convolution{{2, 32, 9, 9}, {40, 32, 1, 1}, 1, 0, 1, "none", false, true},
        Convolution{{1, 8, 20, 20}, {16, 8, 3, 3}, 1, 2, 2, "sigmoid", true, true},
        Convolution{{1, 70, 33, 9}, {130, 70, 1, 3}}}) {
    PlanWriter w;
    PlanValueId x = w.run(OpKind::Tanh, {}, {w.input("x", c.x)});
    w.output("y", w.run(OpKind::Sqrt, {}, {w.run(OpKind::Abs, {}, {convolve(w, x, c, "c")})}));
    plans.push_back(w.finish());
  }
  struct Product {
    Shape x, y;
  };
  for (const Product& p : {Product{{70, 33}, {33, 50}}, Product{{3, 24, 17}, {3, 17, 40}},
                           Product{{4, 9, 64}, {64, 8}}, Product{{2, 3, 20, 16}, {3, 16, 30}}}) {
    PlanWriter w;
    PlanValueId bias = w.weight("b", {p.y.back()});
    PlanValueId z = w.run(OpKind::Matmul, {Value::of_enum("gelu")},
                          {w.input("x", p.x), w.input("y", p.y), bias, kNoValue});
    w.output("z", w.run(OpKind::Add, {}, {z, w.constant({}, {1.5})}));
    plans.push_back(w.finish());
  }
  PlanWriter w; // an operand that is read transposed
  PlanValueId turned = w.run(OpKind::Transpose, {Value::of_ints({1, 0})}, {w.input("x", {40, 24})});
  w.output("z", w.run(OpKind::Matmul, {Value::of_enum("none")},
                      {w.input("a", {30, 24}), turned, kNoValue, kNoValue}));
  plans.push_back(w.finish());
  return plans;
}

/// Returns the kernels of steps that sum products.
std::vector<const cuda::Kernel*> sums(const Generated& g) {
  std::vector<const cuda::Kernel*> kernels;
  for (size_t u = 0; u < g.units.size(); ++u)
    if (g.kernels[u] && llvm::any_of(g.units[u].group.steps, [&](PlanStepId s) {
          OpKind op = g.plan.steps[s].op;
          return op == OpKind::Conv2d || op == OpKind::Matmul;
        }))
      kernels.push_back(g.kernels[u].get());
  return kernels;
}

/// Images inside the network are channels-last.
cuda::StridesOf channels_last(const Plan& plan) {
  return [&plan](PlanValueId id) {
    const PlanValue& v = plan.values[id];
    Shape plain = contiguous_strides(v.type.shape);
    bool inside = v.kind == PlanValue::Kind::Temporary && !v.is_output;
    if (!inside || v.type.shape.size() != 4) return plain;
    int64_t channels = v.type.shape[1], width = v.type.shape[3];
    return Shape{plain[0], 1, width * channels, channels};
  };
}

TEST(Tiles, AgreeWithRef) {
  std::vector<Generated> all;
  for (Plan& plan : networks()) {
    all.push_back(generate_all(plan, none));
    Plan half = plan;
    for (PlanValue& value : half.values) value.type.dtype = DType::BF16;
    all.push_back(generate_all(std::move(half), none));
    if (plan.steps.size() > 3) all.push_back(generate_all(std::move(plan), none, channels_last));
  }
  for (const Generated& g : all)
    for (const cuda::Kernel* kernel : sums(g))
      EXPECT_EQ(kernel->schedule, cuda::KernelSchedule::Tiles) << dump(g.plan);
  expect_like_ref(all, 2e-2);
}

TEST(Tiles, AreNotForSumsThatShareLittle) {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 32, 20, 20});
  PlanValueId each = convolve(w, x, {{1, 32, 20, 20}, {32, 1, 3, 3}, 1, 1}, "depthwise");
  PlanValueId few = convolve(w, each, {{1, 32, 20, 20}, {4, 32, 3, 3}, 1, 1}, "few");
  w.output("y", few);
  w.output("row", w.run(OpKind::Matmul, {Value::of_enum("none")},
                        {w.input("v", {1, 64}), w.weight("m", {64, 64}), kNoValue, kNoValue}));
  Generated g = generate_all(w.finish(), none);
  ASSERT_EQ(sums(g).size(), 3u);
  for (const cuda::Kernel* kernel : sums(g))
    EXPECT_NE(kernel->schedule, cuda::KernelSchedule::Tiles);
}

TEST(Tiles, KeepTheDeviceBusy) {
  auto tile = [](const Convolution& c) {
    PlanWriter w;
    w.output("y", convolve(w, w.input("x", c.x), c, "c"));
    Generated g = generate_all(w.finish(), none);
    const cuda::Tunables& t = g.kernels[0]->tunables;
    EXPECT_EQ(t.threads * t.own_rows * t.own_columns, t.tile_rows * t.tile_columns);
    EXPECT_GE(t.threads, 64);
    return std::pair(t.tile_rows, t.tile_columns);
  };
  EXPECT_EQ(tile({{1, 64, 112, 112}, {64, 64, 3, 3}, 1, 1}), std::pair(64, 64));
  EXPECT_EQ(tile({{1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1}), std::pair(32, 64))
      << "few results, long sums: terms are divided first";
}

/// Keeps ptxas from spilling (all examples are tested by property_cuda).
TEST(Tiles, BoundTheRegistersOfAThread) {
  for (Plan& plan : networks()) {
    Generated g = generate_all(std::move(plan), none);
    for (size_t i = 0; i < g.kernels.size(); ++i) {
      if (!g.kernels[i]) continue;
      const cuda::KernelSource& source = g.sources[i];
      bool tiles = g.kernels[i]->schedule == cuda::KernelSchedule::Tiles;
      EXPECT_EQ(source.blocks_at_once, tiles ? 512 / source.threads : 0);
      std::string bounds = std::to_string(source.threads);
      if (tiles) bounds += ", " + std::to_string(512 / source.threads);
      EXPECT_NE(
          cuda::function_text(source).find("__launch_bounds__(" + bounds + ") " + source.name),
          std::string::npos);
    }
  }
}

TEST(Tiles, CompileForGpus) {
  auto compiler = cuda::open_nvrtc();
  if (!compiler) GTEST_SKIP() << compiler.error().message; // NVRTC is not installed
  std::string text = cuda::prelude_text();
  std::set<std::string> names;
  for (Plan& plan : networks())
    for (const cuda::KernelSource& source : sources_of(generate_all(std::move(plan), none)))
      if (names.insert(source.name).second) text += cuda::function_text(source);
  for (const char* architecture : {"sm_75", "sm_80", "sm_90"}) {
    auto cubin = (*compiler)->compile(text, architecture);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message << cubin.error().notes[0];
    size_t shared = 0;
    for (const std::string& name : names) {
      auto use = cuda::kernel_use(*cubin, name);
      ASSERT_TRUE(use.ok()) << use.error().message;
      EXPECT_EQ(use->stack_bytes, 0) << architecture << "\n" << text;
      shared += use->shared_bytes > 0;
    }
    EXPECT_GE(shared, 9u);
  }
}

} // namespace
} // namespace tg::test
