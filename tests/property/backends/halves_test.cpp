// Tests whole graphs in f16 and bf16 (retype): the cpu backend, on oneDNN's bf16 products
// and on kernels that convert, against `ref`, which computes in double and rounds once per
// operator. Both are compared with the f32 graph. The half types have 11 and 8 bits,
// which determine the tolerances.
#include "compiler/ir/retype.h"
#include "runtime/convert.h"
#include "tests/property/backends/every_pointwise.h"
#include "tests/unit/cpu/compare.h"

#include <llvm/ADT/STLExtras.h>

#include <cstring>

namespace tg::test {
namespace {

/// A convolutional block, a pooled head, and then the products, norms and softmax of attention.
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

TEST_P(Halves, KeepsNamesAndTypesOfInputsAndOutputs) {
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

size_t conversions(const Graph& graph, Tensor* first = nullptr) {
  Comparison info;
  auto outputs = outputs_of(*make_cpu_backend(), plan_from_graph(graph), {}, 1, &info);
  if (first && !outputs.empty()) *first = std::move(outputs[0]);
  return static_cast<size_t>(
      llvm::count_if(info.steps, [](const StepInfo& step) { return step.name == "convert"; }));
}

TEST(HalvesInFloats, PassBetweenKernelsOfFloats) {
  Builder b;
  network(b);
  EXPECT_EQ(conversions(*retype(b.graph, DType::F16)), 0u);
}

TEST(HalvesInFloats, PassThroughNormsAndConcats) {
  Builder b;
  NodeId x = b.input("image", {1, 16, 12, 12});
  auto conv = [&](NodeId of, llvm::StringRef name, int64_t from) {
    return b.op(OpKind::Conv2d, {of, b.weight(name, {8, from, 1, 1}), b.none(), b.none()});
  };
  auto norm = [&](NodeId of, const std::string& name) {
    llvm::SmallVector<NodeId, 5> operands{of};
    for (const char* part : {".scale", ".bias", ".mean", ".var"})
      operands.push_back(b.weight(name + part, {8}, "ones"));
    return b.op(OpKind::Relu6, {b.op(OpKind::BatchNorm, operands)});
  };
  NodeId one = norm(conv(x, "a", 16), "n"), two = norm(conv(x, "b", 16), "m");
  NodeId both = b.op(OpKind::Concat, {one, two}, {Value::of_int(1)});
  b.output(conv(both, "c", 16));
  EXPECT_EQ(conversions(*retype(b.graph, DType::F16)), 0u);
}

/// An elementwise operator between products. If `stored`, a step that supports only f16 also reads
/// each of its values, so that they are stored as f16.
Graph between_products(const OpInfo& info, bool stored) {
  Builder b;
  llvm::SmallVector<NodeId, 4> values, operands;
  for (size_t i = 0; i < info.operand_count; ++i) {
    std::string number = std::to_string(i);
    NodeId x = b.op(OpKind::Matmul, {b.input("x" + number, {5, 7}), b.weight("w" + number, {7, 33}),
                                     b.none(), b.none()});
    values.push_back(x);
    bool condition = info.shape == ShapeRule::select && i == 0;
    NodeId zero = b.graph.constant({0}, f32({}));
    operands.push_back(condition ? b.op(OpKind::Greater, {x, zero}) : x);
  }
  std::vector<Value> attrs;
  for (size_t a = 0; a < info.attr_count; ++a)
    attrs.push_back(Value::of_float(static_cast<double>(2 * a) - 1));
  NodeId y = b.op(info.kind, operands, attrs);
  bool is_float = b.graph.type(y).dtype == DType::F32;
  if (is_float) values.push_back(y);
  b.output(is_float ? b.op(OpKind::Matmul, {y, b.weight("v", {33, 9}), b.none(), b.none()}) : y);
  if (stored)
    for (NodeId value : values)
      b.output(b.op(OpKind::Pad, {value}, {Value::of_ints({1, 0}), Value::of_ints({0, 0})}));
  return *retype(b.graph, DType::F16);
}

/// Returns true if the result is an operand or a limit, except for the sign: it keeps all digits.
bool chooses(OpKind op) {
  constexpr OpKind kChoices[] = {OpKind::Identity, OpKind::Neg,     OpKind::Abs,
                                 OpKind::Relu,     OpKind::Relu6,   OpKind::Clip,
                                 OpKind::Maximum,  OpKind::Minimum, OpKind::Select};
  return llvm::is_contained(kChoices, op);
}

TEST(HalvesInFloats, AreRoundedByElementwiseOperatorsAsInMemory) {
  for (const OpInfo& info : all_ops()) {
    if (!is_pointwise(info.kind) || !dtype_fits(info, DType::F16)) continue;
    std::string name(info.name);
    Tensor got, want;
    EXPECT_EQ(conversions(between_products(info, false), &got), 0u) << name;
    EXPECT_GT(conversions(between_products(info, true), &want), 0u) << name;
    ASSERT_EQ(got.type(), want.type());
    if (chooses(info.kind)) {
      EXPECT_LE(max_rel_diff(got, want), 0x1p-9) << name;
      continue;
    }
    auto bytes = static_cast<size_t>(got.bytes());
    EXPECT_EQ(std::memcmp(std::as_const(got).data(), std::as_const(want).data(), bytes), 0) << name;
  }
}

TEST(HalvesInFloats, AreRoundedByCasts) {
  Builder b;
  NodeId x =
      b.op(OpKind::Matmul, {b.input("x", {5, 7}), b.weight("w", {7, 33}), b.none(), b.none()});
  b.output(b.op(OpKind::Relu, {x})); // retype casts it to f32
  Tensor got;
  EXPECT_EQ(conversions(*retype(b.graph, DType::F16), &got), 0u);
  for (float number : got.floats()) EXPECT_EQ(number, f16_to_float(float_to_f16(number)));
}

INSTANTIATE_TEST_SUITE_P(All, Halves, testing::Values(DType::F16, DType::BF16),
                         [](const auto& info) { return dtype_name(info.param).str(); });

} // namespace
} // namespace tg::test
