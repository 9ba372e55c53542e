// Tests the placement of tensors by the cpu backend: results inside a concat or with gaps, blocked
// transpositions, channels-last images. A redundant copy or reorder is a failure.
#include "tests/unit/cpu/chosen_kernels.h"
#include "tests/unit/random_draws.h"

namespace tg::test {
namespace {

TEST(CpuBackend, RowsOfAConcatAreWrittenInPlace) {
  Builder b;
  NodeId x = b.input("x", {1, 32});
  llvm::SmallVector<NodeId> pieces;
  for (const char* path : {"a", "b", "c"})
    pieces.push_back(b.op(OpKind::Matmul, {x, b.weight(path, {32, 48}), b.none(), b.none()}));
  NodeId all = b.op(OpKind::Concat, pieces, {Value::of_int(1)});
  b.output(b.op(OpKind::Matmul, {all, b.weight("d", {144, 8}), b.none(), b.none()}));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(kernel_of(c, "concat"), "in place") << implementations(c);
}

/// Halves of rows are read in place and written into rows of a concat.
TEST(CpuBackend, ElementwiseOperatorsOverRowsWithGaps) {
  for (int64_t rows : {1, 3, 300})
    for (int64_t width : {1, 3, 15, 16, 17, 64, 100, 1500}) {
      Builder b;
      NodeId x = b.input("x", {rows, 2 * width}), bias = b.input("b", {width});
      auto half = [&](int64_t from) {
        return b.op(OpKind::Slice, {x},
                    {Value::of_int(1), Value::of_int(from), Value::of_int(from + width)});
      };
      NodeId left = half(0), right = half(width);
      NodeId sum = b.op(OpKind::Add, {left, right});
      NodeId three = b.op(OpKind::Tanh, {b.op(OpKind::Mul, {sum, b.op(OpKind::Neg, {left})})});
      b.output(b.op(OpKind::Concat,
                    {b.op(OpKind::Relu, {left}), b.op(OpKind::Add, {right, bias}),
                     b.op(OpKind::Mul, {left, right}), three},
                    {Value::of_int(1)}));
      expect_good(compare(b.graph, 2));
    }
}

TEST(CpuBackend, ElementwiseResultsGoIntoChannelsOfAConcat) {
  Builder b;
  NodeId x = b.input("x", {1, 16, 9, 9});
  NodeId left = b.op(OpKind::Relu, {conv(b, x, "a", 24, 1, 1)});
  NodeId right = b.op(OpKind::Tanh, {conv(b, x, "b", 40, 1, 1)});
  b.output(conv(b, b.op(OpKind::Concat, {left, right}, {Value::of_int(1)}), "c", 8, 1, 1));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(kernel_of(c, "concat"), "in place") << implementations(c);
}

TEST(CpuBackend, WinogradsWayBackEndsInAConcat) {
  if (!avx512()) GTEST_SKIP() << "oneDNN has Winograd for AVX-512 alone";
  Builder b;
  NodeId x = b.op(OpKind::Relu, {b.input("x", {1, 16, 14, 14})});
  llvm::SmallVector<NodeId> pieces = {conv(b, x, "a", 32, 1, 1, "relu"),
                                      conv(b, x, "b", 48, 3, 1, "relu")};
  b.output(conv(b, b.op(OpKind::Concat, pieces, {Value::of_int(1)}), "c", 8, 1, 1));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(count(c, "concat"), 1u) << "only the first piece is copied\n" << implementations(c);
}

TEST(CpuBackend, AttentionMovesNothing) {
  if (!avx512()) GTEST_SKIP() << "brgemm takes exchanged axes on AVX-512 alone";
  Builder b;
  NodeId x = b.input("x", {64, 256});
  auto heads = [&](const char* path, std::initializer_list<int64_t> perm) {
    NodeId y = b.op(OpKind::Matmul, {x, b.weight(path, {256, 256}), b.none(), b.none()});
    y = b.op(OpKind::Reshape, {y}, {Value::of_ints({64, 4, 64})});
    return b.op(OpKind::Transpose, {y}, {Value::of_ints(perm)});
  };
  NodeId q = heads("q", {1, 0, 2}), k = heads("k", {1, 2, 0}), v = heads("v", {1, 0, 2});
  NodeId p = b.op(OpKind::Softmax, {b.op(OpKind::Matmul, {q, k, b.none(), b.none()})});
  NodeId y = b.op(OpKind::Matmul, {p, v, b.none(), b.none()});
  y = b.op(OpKind::Transpose, {y}, {Value::of_ints({1, 0, 2})});
  b.output(b.op(OpKind::Reshape, {y}, {Value::of_ints({64, 256})}));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(count(c, "reorder"), 0u) << implementations(c);
}

TEST(CpuBackend, SlicesOfPackedProjectionsAreCopiedRatherThanRunByGemm) {
  Builder b;
  NodeId x = b.input("x", {64, 256});
  NodeId all = b.op(OpKind::Matmul, {x, b.weight("qk", {256, 512}), b.none(), b.none()});
  auto heads = [&](int64_t start) {
    NodeId y = b.op(OpKind::Slice, {all},
                    {Value::of_int(1), Value::of_int(start), Value::of_int(start + 256)});
    y = b.op(OpKind::Reshape, {y}, {Value::of_ints({64, 4, 64})});
    return b.op(OpKind::Transpose, {y}, {Value::of_ints({1, 0, 2})});
  };
  b.output(b.op(OpKind::Matmul, {heads(0), heads(256), b.none(), b.none()}));
  expect_good(compare(b.graph));
}

/// Few rows by many columns and the reverse, in many planes or one; partial tiles; colours.
TEST(CpuBackend, PlanesAreTransposedByBlocks) {
  for (Shape shape : {Shape{30, 4, 28},
                      {30, 28, 4},
                      {41, 5, 7},
                      {17, 16, 33},
                      {3, 9, 6, 50},
                      {2, 64, 300},
                      {300, 64},
                      {1, 515, 37},
                      {40, 64, 100},
                      {2, 3, 50},
                      {3, 2051},
                      {3, 5},
                      {2, 3, 4, 5000}})
    for (int threads : {1, 3}) {
      Builder b;
      Shape order;
      for (size_t i = 0; i < shape.size(); ++i) order.push_back(static_cast<int64_t>(i));
      std::swap(order[shape.size() - 1], order[shape.size() - 2]);
      b.output(b.op(OpKind::Transpose, {b.input("x", shape)}, {Value::of_ints(order)}));
      Comparison c = compare(b.graph, threads);
      EXPECT_EQ(c.difference, 0);
      EXPECT_NE(implementations(c).find("copy:blocks"), std::string::npos) << implementations(c);
    }
}

/// The rows are not next to the columns: axes of an image, and pixels with others between them.
TEST(CpuBackend, AnyTwoAxesAreTransposedByBlocks) {
  RandomDraws r(3);
  for (int round = 0; round < 40; ++round) {
    Builder b;
    Shape shape, order;
    for (int64_t i = 0, rank = r.in(2, 5); i < rank; ++i) {
      shape.push_back(r.in(1, 23));
      order.insert(order.begin() + r.in(0, i), i);
    }
    NodeId x = b.input("x", shape);
    int64_t axis = r.in(0, static_cast<int64_t>(shape.size()) - 1),
            size = shape[static_cast<size_t>(axis)];
    if (r.coin())
      x = b.op(OpKind::Slice, {x},
               {Value::of_int(axis), Value::of_int(size / 3), Value::of_int(size)});
    b.output(b.op(OpKind::Transpose, {x}, {Value::of_ints(order)}));
    EXPECT_EQ(compare(b.graph, static_cast<int>(r.in(1, 3))).difference, 0) << round;
  }
}

/// One copy is enough, instead of one to row-major and one back.
TEST(CpuBackend, ChannelsAreShuffledByOneCopy) {
  Builder b;
  auto layer = [&](NodeId x, const char* weight) {
    return b.op(OpKind::Conv2d, {x, b.weight(weight, {24, 6, 1, 1}), b.none(), b.none()});
  };
  NodeId y = layer(b.input("x", {2, 24, 9, 7}), "first");
  y = b.op(OpKind::Reshape, {y}, {Value::of_ints({2, 4, 6, 9, 7})});
  y = b.op(OpKind::Transpose, {y}, {Value::of_ints({0, 2, 1, 3, 4})});
  y = b.op(OpKind::Relu, {b.op(OpKind::Reshape, {y}, {Value::of_ints({2, 24, 9, 7})})});
  b.output(layer(y, "second"));
  Comparison c = compare(b.graph, 1, IoLayout::Native);
  EXPECT_LE(c.difference, 1e-5);
  std::string steps = implementations(c);
  EXPECT_EQ(llvm::StringRef(steps).count("reorder"), 1u) << steps;
  EXPECT_NE(steps.find("reorder copy:blocks"), std::string::npos) << steps;
}

/// oneDNN's generated code runs these.
TEST(CpuBackend, TranspositionsOfTwoRowsAreNotByBlocks) {
  for (Shape shape : {Shape{2, 300}, {40, 100, 3}, {300, 2}}) {
    Builder b;
    Value order = shape.size() == 3 ? Value::of_ints({0, 2, 1}) : Value::of_ints({1, 0});
    b.output(b.op(OpKind::Transpose, {b.input("x", shape)}, {order}));
    Comparison c = compare(b.graph);
    EXPECT_EQ(c.difference, 0);
    EXPECT_EQ(implementations(c).find("copy:blocks"), std::string::npos) << implementations(c);
  }
}

/// A ConvNeXt block: pixels go through a product, and the result is added to the image.
TEST(CpuBackend, DoesNotReorderAProductThatIsAddedToAnImage) {
  Builder b;
  NodeId image = conv(b, b.input("x", {1, 8, 12, 12}), "stem", 16, 3, 1);
  NodeId y = b.op(OpKind::Transpose, {image}, {Value::of_ints({0, 2, 3, 1})});
  y = b.op(OpKind::Matmul, {y, b.weight("w", {16, 16}), b.none(), b.none()});
  y = b.op(OpKind::Add, {y, b.weight("bias", {16})});
  y = b.op(OpKind::Transpose, {y}, {Value::of_ints({0, 3, 1, 2})});
  y = b.op(OpKind::Add, {image, y});
  b.output(conv(b, y, "next", 16, 3, 1));
  Comparison c = compare(b.graph, 1, IoLayout::Native);
  expect_good(c);
  for (const StepInfo& step : c.steps)
    EXPECT_FALSE(step.name == "reorder" && step.result == "f32[1, 12, 12, 16]")
        << implementations(c);
  EXPECT_LE(count(c, "reorder"), 1u) << implementations(c); // of the input
}

/// A group norm with one group, as PyTorch's exporter writes it. It works on any order
/// of elements, so that none is moved.
TEST(CpuBackend, AnImageThatIsNormalisedWholeStaysChannelsLast) {
  for (int64_t images : {1, 3})
    for (Shape size : {Shape{16, 6, 7}, {24, 56, 50}})
      for (double scale : {1.0, 0.75}) {
        Builder b;
        int64_t length = size[0] * size[1] * size[2];
        Shape shape = {images, size[0], size[1], size[2]};
        NodeId x = b.op(OpKind::MaxPool2d, {b.input("x", shape)}, {pair(1, 1), pair(1, 1)});
        auto constant = [&](double value) { return b.graph.constant({value}, f32({length})); };
        NodeId y = b.op(OpKind::Reshape, {x}, {Value::of_ints({images, 1, length})});
        y = b.op(OpKind::LayerNorm, {y, constant(scale), constant(0.5)});
        y = b.op(OpKind::Reshape, {y}, {Value::of_ints({images, size[0], size[1], size[2]})});
        y = b.op(OpKind::Mul, {y, b.weight("w", {size[0], 1, 1})});
        b.output(b.op(OpKind::Add, {x, b.op(OpKind::MaxPool2d, {y}, {pair(1, 1), pair(1, 1)})}));
        for (int threads : {1, 3}) {
          Comparison c = compare(b.graph, threads, IoLayout::Native);
          expect_good(c);
          EXPECT_LE(count(c, "reorder"), 1u) << implementations(c); // of the input
        }
      }
}

} // namespace
} // namespace tg::test
