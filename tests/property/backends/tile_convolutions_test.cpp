// Random convolutions, depthwise, in groups or of one tap, through the cpu backend on kernels of
// our own, wherever the processor can run them, against `ref`: images that are inputs, channels
// last or sliced, results that go to concats, biases, residuals that die or live on, every
// activation, some threads. ctest runs this once more for each instruction set that oneDNN can be
// held to.
#include "tests/property/backends/tiles.h"

namespace tg::test {
namespace {

constexpr const char* kActivations[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};

/// An image as an input, as what an elementwise operator leaves, or as some channels of another.
NodeId random_image(Builder& b, RandomDraws& r, llvm::StringRef name, Shape shape) {
  switch (r.in(0, 2)) {
  case 0: return b.input(name, shape);
  case 1: return b.op(OpKind::Neg, {b.input(name, shape)});
  default:
    int64_t channels = shape[1], before = r.in(0, 5);
    shape[1] += before + r.in(0, 6);
    NodeId whole = b.op(OpKind::Neg, {b.input(name, shape)});
    return b.op(OpKind::Slice, {whole},
                {Value::of_int(1), Value::of_int(before), Value::of_int(before + channels)});
  }
}

/// Channels of a concat, behind or before others, some of them row-major.
void add_concat(Builder& b, RandomDraws& r, NodeId y) {
  NodeId other = b.op(OpKind::Neg, {y});
  if (r.coin()) { // row-major
    Shape shape = b.graph.type(y).shape, rows = {shape[0] * shape[1] * shape[2], shape[3]};
    NodeId flat = b.op(OpKind::Softmax, {b.input("rows", rows)}, {Value::of_int(1)});
    other = b.op(OpKind::Reshape, {flat}, {Value::of_ints(shape)});
  }
  llvm::SmallVector<NodeId> pieces = {y, other};
  if (r.coin()) std::swap(pieces[0], pieces[1]);
  b.output(b.op(OpKind::Concat, pieces, {Value::of_int(r.in(0, 3) == 0 ? 2 : 1)}));
}

void random_depthwise(Builder& b, RandomDraws& r) {
  bool usual = r.coin();
  int64_t channels = r.coin() ? 8 * r.in(1, 5) : r.in(2, 40), images = r.in(1, 2);
  int64_t rows = usual ? 3 : r.in(1, 6), columns = usual ? 3 : r.in(1, 6);
  llvm::SmallVector<int64_t, 2> dilation = {usual ? 1 : r.in(1, 2), usual ? 1 : r.in(1, 2)};
  llvm::SmallVector<int64_t, 2> stride = {r.in(1, 2), r.in(1, 2)};
  llvm::SmallVector<int64_t, 4> pad;
  for (int i = 0; i < 4; ++i) pad.push_back(r.in(0, 3));
  int64_t height = (rows - 1) * dilation[0] + r.in(1, 15),
          width = (columns - 1) * dilation[1] + r.in(1, 15);
  NodeId x = random_image(b, r, "x", {images, channels, height, width});
  NodeId w = b.weight("w", {channels, 1, rows, columns});
  NodeId bias = r.coin() ? b.weight("b", {channels}) : b.none(), residual = b.none();
  auto result = [&](size_t i, int64_t image, int64_t kernel) {
    int64_t padding = pad[i] + pad[i + 2];
    return (image + padding - (kernel - 1) * dilation[i] - 1) / stride[i] + 1;
  };
  if (r.coin()) {
    residual = random_image(b, r, "r",
                            {images, channels, result(0, height, rows), result(1, width, columns)});
    if (r.coin()) b.output(residual); // lives on
  }
  NodeId y = b.op(OpKind::Conv2d, {x, w, bias, residual},
                  {Value::of_ints(stride), Value::of_ints(pad), Value::of_ints(dilation),
                   act(kActivations[r.in(0, 5)])});
  if (r.in(0, 2) == 0) return add_concat(b, r, y);
  b.output(y);
}

/// Groups of few channels or many, more than one tap.
void random_grouped(Builder& b, RandomDraws& r) {
  int64_t groups = r.in(1, 6), images = r.in(1, 2);
  bool equal = r.coin(), few = r.coin();
  int64_t inputs = equal ? r.of({4, 8, 16, 32}) : few ? r.in(1, 8) : r.in(2, 20);
  int64_t outputs = equal ? inputs : few ? r.in(1, 8) : r.in(2, 60);
  bool usual = r.coin();
  int64_t rows = usual ? 3 : r.in(1, 4), columns = usual ? 3 : r.in(2, 6);
  llvm::SmallVector<int64_t, 2> dilation = {usual ? 1 : r.in(1, 2), usual ? 1 : r.in(1, 2)};
  llvm::SmallVector<int64_t, 2> stride = {r.in(1, 3), r.in(1, 3)};
  llvm::SmallVector<int64_t, 4> pad;
  for (int i = 0; i < 4; ++i) pad.push_back(r.in(0, 3));
  int64_t height = (rows - 1) * dilation[0] + r.in(1, 9),
          width = (columns - 1) * dilation[1] + r.in(1, 17);
  if (inputs == 1 && outputs == 1) inputs = 2; // else it is depthwise
  NodeId x = random_image(b, r, "x", {images, groups * inputs, height, width});
  Shape kernel = {groups * outputs, inputs, rows, columns};
  NodeId w = r.in(0, 3) == 0 ? b.op(OpKind::Neg, {b.input("w", kernel)}) : b.weight("w", kernel);
  NodeId bias = r.coin() ? b.weight("b", {groups * outputs}) : b.none(), residual = b.none();
  auto result = [&](size_t i, int64_t image, int64_t size) {
    int64_t padding = pad[i] + pad[i + 2];
    return (image + padding - (size - 1) * dilation[i] - 1) / stride[i] + 1;
  };
  if (r.coin()) {
    residual = random_image(
        b, r, "r", {images, groups * outputs, result(0, height, rows), result(1, width, columns)});
    if (r.coin()) b.output(residual); // lives on
  }
  NodeId y = b.op(OpKind::Conv2d, {x, w, bias, residual},
                  {Value::of_ints(stride), Value::of_ints(pad), Value::of_ints(dilation),
                   act(kActivations[r.in(0, 5)])});
  if (r.in(0, 2) == 0) return add_concat(b, r, y);
  b.output(y);
}

/// Of one tap: a product for each group.
void random_pointwise(Builder& b, RandomDraws& r) {
  int64_t groups = r.in(1, 5), depth = r.in(1, 40), columns = r.in(1, 40), images = r.in(1, 3);
  Shape image = {images, groups * depth, r.in(1, 9), r.in(1, 9)};
  llvm::SmallVector<int64_t, 2> stride = {r.in(1, 2), r.in(1, 2)};
  NodeId x = random_image(b, r, "x", image);
  NodeId w = b.weight("w", {groups * columns, depth, 1, 1});
  NodeId bias = r.coin() ? b.weight("b", {groups * columns}) : b.none(), residual = b.none();
  if (r.coin()) {
    residual = random_image(
        b, r, "r",
        {images, groups * columns, (image[2] - 1) / stride[0] + 1, (image[3] - 1) / stride[1] + 1});
    if (r.coin()) b.output(residual); // lives on
  }
  NodeId y = b.op(OpKind::Conv2d, {x, w, bias, residual},
                  {Value::of_ints(stride), Value::of_ints({0, 0, 0, 0}), Value::of_ints({1, 1}),
                   act(kActivations[r.in(0, 5)])});
  if (r.in(0, 2) == 0) return add_concat(b, r, y);
  b.output(y);
}

TEST(TileConvolutions, DepthwiseAgreesWithTheDefinition) {
  expect_agreement(random_depthwise, "tile:avx2 depthwise");
}

TEST(TileConvolutions, GroupsAgreeWithTheDefinition) {
  expect_agreement(random_grouped, "tile:avx2 grouped");
}

TEST(TileConvolutions, OneTapAgreesWithTheDefinition) {
  expect_agreement(random_pointwise, "tile:avx2");
}

/// Thread counts share out whole sums: not a bit changes.
TEST(TileConvolutions, ThreadsChangeNoBit) {
  Builder b;
  NodeId x = b.input("x", {1, 136, 29, 31});
  auto conv = [&](NodeId from, llvm::StringRef path, Shape kernel, int64_t pad) {
    return b.op(OpKind::Conv2d, {from, b.weight(path, kernel), b.none(), b.none()},
                {Value::of_ints({1, 1}), Value::of_ints({pad, pad, pad, pad}),
                 Value::of_ints({1, 1}), act("gelu")});
  };
  x = conv(x, "u", {136, 1, 3, 3}, 1);
  x = conv(x, "v", {136, 34, 1, 1}, 0);
  x = conv(x, "s", {136, 4, 3, 3}, 1);
  x = conv(x, "t", {136, 34, 3, 3}, 1);
  b.output(conv(x, "w", {136, 1, 5, 5}, 2));
  Plan plan = plan_from_graph(b.graph);
  std::vector<std::vector<Tensor>> results;
  for (int threads : {1, 2, 3, 5}) {
    CompileOptions options;
    options.threads = threads;
    results.push_back(outputs_of(*make_cpu_backend(Products::Tiles), plan, options));
    if (cpu::may_use_own("avx2")) { // oneDNN makes no such promise
      EXPECT_EQ(summarise(results.back()[0]).checksum, summarise(results[0][0]).checksum)
          << threads;
    }
  }
}

/// Of a concat whose first piece lies row-major: channels of the others have gaps.
TEST(TileConvolutions, ImagesBesideRowMajorPiecesOfAConcat) {
  for (bool minimal : {false, true}) {
    Builder b;
    NodeId rows = b.op(OpKind::Softmax, {b.input("rows", {48, 9})}, {Value::of_int(1)});
    NodeId first = b.op(OpKind::Reshape, {rows}, {Value::of_ints({1, 6, 8, 9})});
    NodeId x = b.input("x", {1, 16, 8, 9}), w = b.weight("w", {16, minimal ? 16 : 1, 3, 3});
    NodeId y =
        minimal
            ? b.op(OpKind::WinogradConv2d,
                   {x, b.op(OpKind::WinogradWeight, {w}, {Value::of_int(4)}), b.none(), b.none()},
                   {act("same")})
            : b.op(OpKind::Conv2d, {x, w, b.none(), b.none()}, {pair(1, 1), act("same")});
    b.output(b.op(OpKind::Concat, {first, y}, {Value::of_int(1)}));
    Plan plan = plan_from_graph(b.graph);
    std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
    std::vector<Tensor> got = outputs_of(*make_cpu_backend(Products::Tiles), plan, {});
    EXPECT_LE(max_rel_diff(got[0], want[0]), 1e-4);
  }
}

} // namespace
} // namespace tg::test
