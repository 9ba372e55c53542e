// Whole graphs in f16 and bf16 (retype): the cpu backend, on oneDNN's bf16 products and on kernels
// that convert, against `ref`, which computes in double and rounds once an operator; and both
// against the graph of f32. Halves have 11 and 8 bits: tolerances are in these.
#include "compiler/ir/retype.h"
#include "tests/unit/cpu/compare.h"

namespace tg::test {
namespace {

/// A convolutional block, a pooled head, and attention's products, norms and softmax behind it.
void network(Builder& b) {
  NodeId x = b.input("image", {1, 16, 12, 12});
  NodeId w = b.weight("w", {32, 16, 3, 3}), v = b.weight("v", {32, 32, 3, 3});
  std::vector<Value> same = {pair(1, 1), act("same"), pair(1, 1), act("relu")};
  NodeId y = b.op(OpKind::Conv2d, {x, w, b.weight("bias", {32}), b.none()}, same);
  NodeId z = b.op(OpKind::Conv2d, {y, v, b.none(), y}, same);
  z = b.op(OpKind::MaxPool2d, {z}, {pair(2, 2), pair(2, 2)});
  NodeId rows = b.op(OpKind::Reshape, {z}, {Value::of_ints({32, 36})});
  NodeId q = b.op(OpKind::Matmul, {rows, b.weight("q", {36, 32}), b.weight("bq", {32}), b.none()});
  NodeId k = b.op(OpKind::Matmul, {rows, b.weight("k", {36, 32}), b.none(), b.none()});
  NodeId scores = b.op(OpKind::Matmul, {q, b.op(OpKind::Transpose, {k}, {Value::of_ints({1, 0})}),
                                        b.none(), b.none()});
  NodeId mixed = b.op(OpKind::Matmul, {b.op(OpKind::Softmax, {scores}), q, b.none(), b.none()});
  NodeId sum = b.op(OpKind::Gelu, {b.op(OpKind::Add, {mixed, q})});
  b.output(b.op(OpKind::LayerNorm, {sum, b.weight("s", {32}), b.weight("t", {32})}));
  b.output(b.op(OpKind::ReduceMean, {z}, {Value::of_ints({2, 3})}));
}

class Halves : public testing::TestWithParam<DType> {};

TEST_P(Halves, NetworkAgreesWithRefAndWithFloats) {
  Builder b;
  network(b);
  double unit = GetParam() == DType::F16 ? 0x1p-11 : 0x1p-8; // of rounding
  Result<Graph> narrow = retype(b.graph, GetParam());
  ASSERT_TRUE(narrow.ok()) << narrow.error().message;
  EXPECT_EQ(verify(*narrow), "");
  Plan plan = plan_from_graph(*narrow), wide_plan = plan_from_graph(b.graph);
  auto want = outputs_of(*make_ref_backend(), plan, {});
  auto wide = outputs_of(*make_ref_backend(), wide_plan, {});
  for (int threads : {1, 2}) {
    CompileOptions options;
    options.threads = threads;
    options.share_short_work = true;
    Comparison info;
    auto got = outputs_of(*make_cpu_backend(), plan, options, 2, &info);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].type().dtype, DType::F32);
      EXPECT_LE(max_rel_diff(got[i], want[i]), 16 * unit) << implementations(info);
      EXPECT_LE(max_rel_diff(got[i], wide[i]), 16 * unit) << implementations(info);
      EXPECT_GT(max_rel_diff(got[i], wide[i]), 0) << "nothing was rounded";
    }
  }
}

TEST_P(Halves, KeepsNamesAndTypesOfWhatGoesInAndOut) {
  Builder b;
  network(b);
  Graph narrow = *retype(b.graph, GetParam());
  ASSERT_EQ(narrow.outputs().size(), b.graph.outputs().size());
  for (size_t i = 0; i < narrow.outputs().size(); ++i) {
    EXPECT_EQ(narrow.outputs()[i].name, b.graph.outputs()[i].name);
    EXPECT_EQ(narrow.type(narrow.outputs()[i].node), b.graph.type(b.graph.outputs()[i].node));
  }
  ASSERT_EQ(narrow.inputs().size(), 1u);
  EXPECT_EQ(narrow.type(narrow.inputs()[0]), b.graph.type(b.graph.inputs()[0]));
  size_t products = 0;
  for (uint32_t i = 0; i < narrow.size(); ++i) {
    OpKind op = narrow.node({i}).op;
    if (op != OpKind::Conv2d && op != OpKind::Matmul) continue;
    ++products;
    EXPECT_EQ(narrow.type({i}).dtype, GetParam());
  }
  EXPECT_EQ(products, 6u);
}

INSTANTIATE_TEST_SUITE_P(All, Halves, testing::Values(DType::F16, DType::BF16),
                         [](const auto& info) { return dtype_name(info.param).str(); });

} // namespace
} // namespace tg::test
