// Tests how a small amount of work, as in networks at batch 1, is distributed among blocks
// and threads, and which values threads keep in registers. The kernels are executed
// on the processor against `ref`, and compiled for GPUs if NVRTC is installed.
#include "runtime/cuda/device/compile.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/cuda/plain_strides.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

using cuda::KernelSchedule;

bool none(const PlanStep&) { return false; }

Plan layer_norm(Shape shape) {
  PlanWriter w;
  Shape last = {shape.back()};
  PlanValueId x = w.input("x", std::move(shape));
  w.output("y", w.run(OpKind::LayerNorm, {Value::of_float(1e-5)},
                      {x, w.weight("s", last), w.weight("b", last)}));
  return w.finish();
}

Plan applied(OpKind op, std::vector<Value> attrs, Shape shape) {
  PlanWriter w;
  w.output("y", w.run(op, std::move(attrs), {w.input("x", std::move(shape))}));
  return w.finish();
}

Plan pool(Shape shape, int64_t side) {
  return applied(OpKind::AvgPool2d,
                 {Value::of_ints({side, side}), Value::of_ints({1, 1}), Value::of_int(0),
                  Value::of_bool(false)},
                 std::move(shape));
}

cuda::StridesOf channels_last(const Plan& plan) {
  return [&plan](PlanValueId id) {
    const Shape& shape = plan.values[id].type.shape;
    return Shape{shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
  };
}

std::unique_ptr<cuda::Kernel>
kernel_of(const Plan& plan, cuda::StridesOf (*strides)(const Plan&) = cuda::plain_strides) {
  cuda::Group group{{0}, {plan.steps[0].result}};
  std::string why;
  auto kernel = cuda::generate(plan, group, strides(plan), why);
  EXPECT_NE(kernel, nullptr) << why;
  return kernel;
}

std::pair<int, int> threads_of(const Plan& plan) {
  auto kernel = kernel_of(plan);
  return {kernel->tunables.threads, kernel->tunables.row_threads};
}

TEST(Threads, FewRowsAreSharedByMore) {
  EXPECT_EQ(threads_of(layer_norm({128, 768})), std::pair(256, 256)) << "one step each";
  EXPECT_EQ(threads_of(layer_norm({1, 12, 128})), std::pair(32, 32)) << "a block for each row";
  EXPECT_EQ(threads_of(layer_norm({12, 256})), std::pair(32, 32)) << "two steps each, no barrier";
  EXPECT_EQ(threads_of(layer_norm({8192, 768})), std::pair(64, 64)) << "rows enough";
  EXPECT_EQ(threads_of(layer_norm({8192, 128})), std::pair(128, 32));
  EXPECT_EQ(threads_of(layer_norm({2, 8000})), std::pair(512, 512)) << "long";
}

TEST(Threads, FewElementsAreSpreadOverBlocks) {
  EXPECT_EQ(threads_of(applied(OpKind::Exp, {}, {4096})).first, 64);
  EXPECT_EQ(threads_of(applied(OpKind::Exp, {}, {80, 1024})).first, 128);
  EXPECT_EQ(threads_of(applied(OpKind::Exp, {}, {1024, 1024})).first, 256);
}

/// Scale and bias do not depend on mean and variance.
TEST(Threads, LoadIndependentOperandsBeforeTheReduction) {
  for (const Shape& shape : {Shape{5, 768}, Shape{3, 100}, Shape{2, 9000}}) {
    Generated g = generate_all(layer_norm(shape), none);
    std::string text = texts(g);
    size_t last_load = text.rfind("tg_load"), reduced = text.find("TG_REDUCE");
    EXPECT_EQ(last_load < reduced, shape[1] != 9000) << text;
    CppLibrary library;
    library.compile(sources_of(g));
    EXPECT_LE(difference(g, library), 1e-4) << text;
  }
}

/// Means over whole images, in both layouts, computed by many threads.
TEST(Threads, PoolsOverWholeImagesAreShared) {
  for (int64_t side : {7, 13}) {
    auto plain = kernel_of(pool({1, 1280, side, side}, side));
    EXPECT_EQ(plain->schedule, KernelSchedule::Rows);
    auto last = kernel_of(pool({1, 1280, side, side}, side), channels_last);
    EXPECT_EQ(last->schedule, KernelSchedule::Columns);
    for (const auto* kernel : {plain.get(), last.get()})
      EXPECT_GE(kernel->full_blocks(), 128) << kernel->tunables.threads;
  }
}

TEST(Threads, KeepOnlyValuesThatFitRegisters) {
  auto compiler = cuda::open_nvrtc();
  if (!compiler) GTEST_SKIP() << compiler.error().message; // NVRTC is not installed
  std::string text = cuda::prelude_text();
  std::map<std::string, std::string> names;
  int largest = 0;
  for (int64_t row : {4096, 8192, 16384, 32768, 65536})
    for (const Plan& plan : {layer_norm({4, row}), layer_norm({9000, row}),
                             applied(OpKind::Softmax, {Value::of_int(1)}, {9000, row})}) {
      auto kernel = kernel_of(plan);
      largest += kernel->tunables.threads == 1024 && kernel->tunables.kept > 0;
      cuda::KernelSource source = cuda::kernel_source(*kernel);
      if (names.emplace(source.name, dump(plan)).second) text += cuda::function_text(source);
    }
  EXPECT_GT(largest, 0);
  for (const char* architecture : {"sm_80", "sm_90"}) {
    auto cubin = (*compiler)->compile(text, architecture);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message << cubin.error().notes[0];
    for (const auto& [name, plan] : names) {
      auto use = cuda::kernel_use(*cubin, name);
      ASSERT_TRUE(use.ok()) << use.error().message;
      EXPECT_EQ(use->stack_bytes, 0) << architecture << " " << plan;
    }
  }
}

} // namespace
} // namespace tg::test
