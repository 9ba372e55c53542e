// Tests rows that threads share although their elements are not contiguous or other threads read
// them, too: products of few rows with the fused steps, and sums along axes other
// than the innermost. They are executed on the processor against `ref`, and compiled for GPUs
// if NVRTC is installed.
#include "runtime/cuda/device/compile.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/cuda/plain_strides.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::test {
namespace {

using cuda::KernelSchedule;

bool none(const PlanStep&) { return false; }

PlanValueId product(PlanWriter& w, PlanValueId x, PlanValueId y, const char* act = "none",
                    PlanValueId bias = kNoValue) {
  return w.run(OpKind::Matmul, {Value::of_enum(act)}, {x, y, bias, kNoValue});
}

/// A product with bias and activation. `turned`: the matrix is stored by columns.
Plan product_of(int64_t rows, int64_t terms, int64_t columns, bool turned = false) {
  PlanWriter w;
  PlanValueId matrix =
      turned ? w.run(OpKind::Transpose, {Value::of_ints({1, 0})}, {w.input("w", {columns, terms})})
             : w.weight("w", {terms, columns});
  w.output("y",
           product(w, w.input("x", {rows, terms}), matrix, "sigmoid", w.weight("b", {columns})));
  return w.finish();
}

/// A cell of a recurrent network: products of one row, gates, two states.
Plan cell() {
  PlanWriter w;
  PlanValueId x = w.input("x", {1, 96}), h = w.input("h", {1, 96});
  auto gate = [&](const char* name, OpKind act) {
    std::string path = name;
    PlanValueId of_x = product(w, x, w.weight((path + ".x").c_str(), {96, 80}));
    PlanValueId of_h = product(w, h, w.weight((path + ".h").c_str(), {96, 80}));
    return w.run(act, {}, {w.run(OpKind::Add, {}, {of_x, of_h})});
  };
  PlanValueId in = w.run(OpKind::Mul, {}, {gate("i", OpKind::Sigmoid), gate("c", OpKind::Tanh)});
  PlanValueId memory = w.run(OpKind::Add, {}, {in, w.input("c", {1, 80})});
  w.output("memory", memory);
  w.output("state",
           w.run(OpKind::Mul, {}, {gate("o", OpKind::Sigmoid), w.run(OpKind::Tanh, {}, {memory})}));
  return w.finish();
}

Plan reduced(Shape shape, OpKind op, std::vector<Value> attrs) {
  PlanWriter w;
  w.output("y", w.run(op, std::move(attrs), {w.run(OpKind::Exp, {}, {w.input("x", shape)})}));
  return w.finish();
}

struct Case {
  Plan plan;
  KernelSchedule schedule;
};

std::vector<Case> cases() {
  auto axes = [](std::vector<int64_t> of) {
    return std::vector<Value>{Value::of_ints(Shape(of.begin(), of.end())), Value::of_bool(false)};
  };
  return {
      {product_of(1, 512, 200), KernelSchedule::Columns},
      {product_of(3, 49, 70), KernelSchedule::Columns}, // neither size divides
      {product_of(7, 40, 33), KernelSchedule::Columns},
      {product_of(1, 2000, 24), KernelSchedule::Columns}, // too long to keep in registers
      {product_of(2, 128, 90, /*turned=*/true), KernelSchedule::Rows},
      {product_of(8, 64, 64), KernelSchedule::Tiles},
      {product_of(1, 24, 100), KernelSchedule::Serial}, // a short sum
      {cell(), KernelSchedule::Columns},
      {reduced({2, 49, 64}, OpKind::ReduceMean, axes({1})), KernelSchedule::Columns},
      {reduced({60, 5, 11}, OpKind::ReduceMax, axes({0})), KernelSchedule::Columns},
      {reduced({33, 70}, OpKind::Softmax, {Value::of_int(0)}), KernelSchedule::Columns},
      {reduced({49, 3, 40}, OpKind::Argmax, {Value::of_int(0), Value::of_bool(false)}),
       KernelSchedule::Columns},
      {reduced({2, 40, 7, 7}, OpKind::ReduceSum, axes({2, 3})), KernelSchedule::Rows},
      {reduced({64, 300000}, OpKind::ReduceSum, axes({0})), KernelSchedule::Serial}, // enough rows
  };
}

Plan in_dtype(Plan plan, DType dtype) {
  for (PlanValue& value : plan.values)
    if (value.type.dtype == DType::F32) value.type.dtype = dtype;
  return plan;
}

TEST(Columns, AgreeWithRef) {
  std::vector<Generated> all;
  for (Case& c : cases()) {
    all.push_back(generate_all(c.plan, none));
    ASSERT_EQ(all.back().kernels.size(), 1u) << dump(all.back().plan);
    EXPECT_EQ(all.back().kernels[0]->schedule, c.schedule) << dump(all.back().plan);
    if (c.schedule == KernelSchedule::Columns)
      all.push_back(generate_all(in_dtype(std::move(c.plan), DType::F16), none));
  }
  expect_like_ref(all, 5e-3);
}

/// All tunables that divide the sizes give the same results.
TEST(Columns, AreCorrectForAllTunables) {
  std::vector<Generated> all;
  std::vector<cuda::KernelSource> sources;
  for (auto [threads, sharers, vector] :
       {std::tuple{24, 3, 1}, {32, 32, 1}, {96, 1, 7}, {1024, 16, 7}, {40, 5, 1}})
    for (Plan plan :
         {product_of(3, 49, 70), reduced({49, 70}, OpKind::Softmax, {Value::of_int(0)})}) {
      Generated g = generate_all(std::move(plan), none);
      cuda::Tunables tunables;
      tunables.threads = threads;
      tunables.row_threads = sharers;
      tunables.vector = vector;
      std::string why;
      g.kernels[0] =
          cuda::generate(g.plan, g.units[0].group, cuda::plain_strides(g.plan), why, &tunables);
      ASSERT_TRUE(g.kernels[0]) << why;
      EXPECT_EQ(g.kernels[0]->rows_per_block(), threads / sharers);
      g.sources[0] = cuda::kernel_source(*g.kernels[0]);
      sources.push_back(g.sources[0]);
      all.push_back(std::move(g));
    }
  CppLibrary library;
  library.compile(sources);
  for (const Generated& g : all) EXPECT_LE(difference(g, library), 1e-4) << texts(g);
}

/// There are enough blocks, and each reads whole sectors.
TEST(Columns, KeepTheDeviceBusy) {
  auto tunables = [](Plan plan) {
    Generated g = generate_all(std::move(plan), none);
    EXPECT_EQ(g.kernels[0]->schedule, KernelSchedule::Columns);
    const cuda::Tunables& t = g.kernels[0]->tunables;
    return std::tuple(t.threads / t.row_threads, t.row_threads);
  };
  EXPECT_EQ(tunables(product_of(1, 512, 4096)), std::tuple(32, 16));
  EXPECT_EQ(tunables(product_of(1, 512, 512)), std::tuple(8, 64)) << "32 bytes of f32";
  EXPECT_EQ(tunables(in_dtype(product_of(1, 512, 512), DType::F16)), std::tuple(16, 32));
  EXPECT_EQ(tunables(product_of(1, 768, 50000)), std::tuple(32, 4)) << "many rows";
}

TEST(Columns, CompileForGpus) {
  auto compiler = cuda::open_nvrtc();
  if (!compiler) GTEST_SKIP() << compiler.error().message; // NVRTC is not installed
  std::string text = cuda::prelude_text();
  std::map<std::string, KernelSchedule> kernels;
  for (const Case& c : cases())
    for (DType dtype : {DType::F32, DType::F16}) {
      Generated g = generate_all(in_dtype(c.plan, dtype), none);
      if (kernels.emplace(g.sources[0].name, c.schedule).second)
        text += cuda::function_text(g.sources[0]);
    }
  for (const char* architecture : {"sm_75", "sm_80", "sm_90"}) {
    auto cubin = (*compiler)->compile(text, architecture);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message << cubin.error().notes[0];
    for (const auto& [name, schedule] : kernels) {
      auto use = cuda::kernel_use(*cubin, name);
      ASSERT_TRUE(use.ok()) << use.error().message;
      EXPECT_EQ(use->stack_bytes, 0) << architecture << " " << name;
      bool known = schedule == KernelSchedule::Tiles || schedule == KernelSchedule::Serial;
      EXPECT_TRUE(!known || (use->shared_bytes > 0) == (schedule == KernelSchedule::Tiles)) << name;
    }
  }
}

} // namespace
} // namespace tg::test
