// Tests random products through the cpu backend on its own register tiles,
// if the processor can run them, against `ref`: operands that are transposed, sliced
// or broadcast, results that go to a transpose or a concat, biases, residuals that stay live
// or not, every activation, and several threads. ctest also runs this for each instruction set
// to which oneDNN can be limited.
#include "compiler/ir/retype.h"
#include "tests/property/backends/tiles.h"

namespace tg::test {
namespace {

using Random = RandomDraws;

/// A value [lead.., rows, columns]: an input or a weight, as it is, transposed, or sliced.
NodeId matrix(Builder& b, Random& r, llvm::StringRef name, Shape lead, int64_t rows,
              int64_t columns, bool weight) {
  auto leaf = [&](Shape shape) { return weight ? b.weight(name, shape) : b.input(name, shape); };
  Shape shape = lead;
  switch (r.in(0, 3)) {
  case 0: { // transposed
    shape.push_back(columns);
    shape.push_back(rows);
    llvm::SmallVector<int64_t> perm;
    for (size_t i = 0; i < lead.size(); ++i) perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(lead.size()) + 1);
    perm.push_back(static_cast<int64_t>(lead.size()));
    return b.op(OpKind::Transpose, {leaf(shape)}, {Value::of_ints(perm)});
  }
  case 1: { // rows with gaps
    int64_t before = r.in(0, 5);
    shape.push_back(rows);
    shape.push_back(before + columns + r.in(1, 7));
    auto axis = static_cast<int64_t>(lead.size()) + 1;
    return b.op(OpKind::Slice, {leaf(shape)},
                {Value::of_int(axis), Value::of_int(before), Value::of_int(before + columns)});
  }
  default:
    shape.push_back(rows);
    shape.push_back(columns);
    return leaf(shape);
  }
}

void add_reader(Builder& b, Random& r, NodeId product) {
  const Shape shape = b.graph.type(product).shape;
  auto last = static_cast<int64_t>(shape.size()) - 1;
  if (int64_t way = r.in(0, 3); way == 0) {
    llvm::SmallVector<int64_t> perm;
    for (int64_t i = 0; i <= last; ++i) perm.push_back(i);
    std::swap(perm[r.coin() ? 0 : perm.size() - 2], perm.back());
    product = b.op(OpKind::Transpose, {product}, {Value::of_ints(perm)});
  } else if (way == 1) {
    NodeId other = b.op(OpKind::Neg, {product});
    product = b.op(OpKind::Concat, {product, other}, {Value::of_int(r.coin() ? last : last - 1)});
  }
  b.output(product);
}

void random_product(Builder& b, Random& r) {
  constexpr const char* kActs[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};
  int64_t rows = r.coin() ? r.in(1, 6) : r.in(1, 70), depth = r.in(1, r.coin() ? 20 : 900);
  int64_t columns = r.in(1, 100);
  Shape lead, of_x, of_y;
  for (int64_t i = r.in(0, 2); i > 0; --i) lead.push_back(r.in(1, 4));
  bool one = r.coin(); // one matrix for the whole batch
  for (int64_t extent : lead) {
    of_x.push_back(r.in(0, 3) == 0 ? 1 : extent);
    if (!one) of_y.push_back(of_x.back() == extent && r.in(0, 3) == 0 ? 1 : extent);
    if (one) of_x.back() = extent;
  }
  NodeId x = matrix(b, r, "x", of_x, rows, depth, false);
  NodeId y = matrix(b, r, "y", of_y, depth, columns, r.coin());
  Shape result = lead;
  result.push_back(rows);
  result.push_back(columns);
  NodeId bias = r.coin() ? b.weight("b", {columns}) : b.none(), residual = b.none();
  if (r.coin()) {
    residual = b.op(OpKind::Neg, {b.input("r", result)});
    if (r.coin()) b.output(residual); // stays live
  }
  add_reader(b, r, b.op(OpKind::Matmul, {x, y, bias, residual}, {act(kActs[r.in(0, 5)])}));
}

TEST(TileProducts, AgreeWithTheDefinition) { expect_agreement(random_product, "tile:"); }

/// Products in bf16, on tiles if the processor multiplies pairs of bf16, otherwise on oneDNN.
/// All of them, like `ref`, round once after the activation.
TEST(TileProducts, AgreeWithTheDefinitionInBf16) {
  constexpr uint64_t kModels = 250;
  size_t ours = 0;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    Random r(seed);
    Builder b;
    random_product(b, r);
    Result<Graph> narrow = retype(b.graph, DType::BF16);
    ASSERT_TRUE(narrow.ok()) << narrow.error().message;
    Comparison info;
    expect_as_defined(*narrow, r, seed, 0x1p-7, info);
    if (HasFatalFailure()) return;
    for (const StepInfo& step : info.steps)
      ours += llvm::StringRef(step.implementation).startswith("tile:avx512_bf16");
  }
  EXPECT_EQ(ours, cpu::may_use_own("avx512_bf16") ? kModels : 0);
}

/// Threads share whole sums, so that the bits do not change.
TEST(TileProducts, ThreadsChangeNoBit) {
  Builder b;
  NodeId x = b.input("x", {200, 700});
  x = b.op(OpKind::Matmul, {x, b.weight("w", {700, 330}), b.weight("b", {330}), b.none()},
           {act("gelu")});
  b.output(b.op(OpKind::Matmul, {x, b.weight("v", {330, 90}), b.none(), b.none()}));
  Plan plan = plan_from_graph(b.graph);
  std::vector<std::vector<Tensor>> results;
  for (int threads : {1, 2, 3, 5}) {
    CompileOptions options;
    options.threads = threads;
    results.push_back(outputs_of(*make_cpu_backend(Products::Tiles), plan, options));
    if (cpu::may_use_own("avx2")) { // oneDNN does not guarantee this
      EXPECT_EQ(summarise(results.back()[0]).checksum, summarise(results[0][0]).checksum)
          << threads;
    }
  }
}

} // namespace
} // namespace tg::test
