// Tests random convolutions through the cpu backend on its own kernels, if the processor can run
// them, against `ref`: depthwise, grouped, dense, with one tap, over sequences and volumes,
// and transposed. Images are inputs, channels last or sliced. Results go to concats.
// There are biases, residuals that stay live or not, every activation, and several threads.
// ctest also runs this for each instruction set to which oneDNN can be limited.
#include "tests/property/backends/tiles.h"

namespace tg::test {
namespace {

constexpr const char* kActivations[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};

/// An image that is an input, the result of an elementwise operator, or some channels
/// of another image.
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

/// Puts y into a concat, before or after other channels, some of them row-major.
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

/// Groups of channels with kernels of rows x columns.
struct Groups {
  int64_t groups, inputs, outputs, rows, columns;
};

/// Common or unusual windows, with random fused steps, at the end of a model or before a concat.
/// If `drawn`, the kernel is computed in the run, not known at load.
void random_convolution(Builder& b, RandomDraws& r, const Groups& g, bool dilated, bool drawn,
                        int64_t most_padding = 3) {
  int64_t images = r.in(1, 2);
  auto gap = [&] { return dilated ? r.in(1, 2) : 1; };
  llvm::SmallVector<int64_t, 2> dilation = {gap(), gap()};
  llvm::SmallVector<int64_t, 2> stride = {r.in(1, 3), r.in(1, 3)};
  llvm::SmallVector<int64_t, 4> pad;
  for (int i = 0; i < 4; ++i) pad.push_back(r.in(0, most_padding));
  int64_t height = (g.rows - 1) * dilation[0] + r.in(1, 15),
          width = (g.columns - 1) * dilation[1] + r.in(1, 17);
  NodeId x = random_image(b, r, "x", {images, g.groups * g.inputs, height, width});
  Shape kernel = {g.groups * g.outputs, g.inputs, g.rows, g.columns};
  NodeId w = drawn ? b.op(OpKind::Neg, {b.input("w", kernel)}) : b.weight("w", kernel);
  NodeId bias = r.coin() ? b.weight("b", {kernel[0]}) : b.none(), residual = b.none();
  auto result = [&](size_t i, int64_t image, int64_t size) {
    int64_t padding = pad[i] + pad[i + 2];
    return (image + padding - (size - 1) * dilation[i] - 1) / stride[i] + 1;
  };
  if (r.coin()) {
    residual = random_image(
        b, r, "r", {images, kernel[0], result(0, height, g.rows), result(1, width, g.columns)});
    if (r.coin()) b.output(residual); // stays live
  }
  NodeId y = b.op(OpKind::Conv2d, {x, w, bias, residual},
                  {Value::of_ints(stride), Value::of_ints(pad), Value::of_ints(dilation),
                   act(kActivations[r.in(0, 5)])});
  if (r.in(0, 2) == 0) return add_concat(b, r, y);
  b.output(y);
}

void random_depthwise(Builder& b, RandomDraws& r) {
  bool usual = r.coin();
  int64_t channels = r.coin() ? 8 * r.in(1, 5) : r.in(2, 40);
  auto size = [&] { return usual ? 3 : r.in(1, 6); };
  random_convolution(b, r, {channels, 1, 1, size(), size()}, !usual, false);
}

/// Groups of few or many channels, with more than one tap.
void random_grouped(Builder& b, RandomDraws& r) {
  bool equal = r.coin(), few = r.coin(), usual = r.coin();
  int64_t inputs = equal ? r.of({4, 8, 16, 32}) : few ? r.in(1, 8) : r.in(2, 20);
  int64_t outputs = equal ? inputs : few ? r.in(1, 8) : r.in(2, 60);
  if (inputs == 1 && outputs == 1) inputs = 2; // otherwise it is depthwise
  random_convolution(b, r,
                     {r.in(1, 6), inputs, outputs, usual ? 3 : r.in(1, 4), usual ? 3 : r.in(2, 6)},
                     !usual, r.in(0, 3) == 0);
}

/// A dense convolution with several taps: few or many channels, partial vectors.
void random_dense(Builder& b, RandomDraws& r) {
  bool usual = r.coin(), few = r.coin();
  auto channels = [&] { return few ? r.in(1, 12) : r.coin() ? 16 * r.in(1, 6) : r.in(10, 90); };
  int64_t inputs = channels(), outputs = channels();
  if (inputs == 1 && outputs == 1) outputs = 2; // otherwise it is depthwise
  random_convolution(b, r, {1, inputs, outputs, usual ? 3 : r.in(1, 5), usual ? 3 : r.in(2, 5)},
                     !usual, r.in(0, 3) == 0);
}

/// A convolution of one tap without padding: without groups, a product.
void random_pointwise(Builder& b, RandomDraws& r) {
  random_convolution(b, r, {r.in(1, 5), r.in(1, 40), r.in(1, 40), 1, 1}, false, false, 0);
}

/// A convolution over one row, long enough to be cut, with one or several taps, some in groups.
void random_sequence(Builder& b, RandomDraws& r) {
  int64_t groups = r.coin() ? 1 : r.in(1, 4), inputs = r.in(2, 40), outputs = r.in(1, 40);
  int64_t length = r.in(200, 900), taps = r.in(1, 9), stride = r.in(1, 3), gap = r.in(1, 2);
  int64_t before = r.in(0, 3), behind = r.in(0, 3), extent = (taps - 1) * gap + 1;
  NodeId x = random_image(b, r, "x", {r.in(1, 2), groups * inputs, 1, length});
  NodeId residual = b.none(), w = b.weight("w", {groups * outputs, inputs, 1, taps});
  if (r.coin())
    residual = random_image(b, r, "r",
                            {b.graph.type(x).shape[0], groups * outputs, 1,
                             (length + before + behind - extent) / stride + 1});
  NodeId bias = r.coin() ? b.weight("b", {groups * outputs}) : b.none();
  b.output(b.op(OpKind::Conv2d, {x, w, bias, residual},
                {Value::of_ints({1, stride}), Value::of_ints({0, before, 0, behind}),
                 Value::of_ints({1, gap}), act(kActivations[r.in(0, 5)])}));
}

/// Dense, grouped or depthwise, over an input or the result of an elementwise operator.
void random_volume(Builder& b, RandomDraws& r) {
  bool depthwise = r.in(0, 2) == 0, usual = r.coin();
  int64_t groups = depthwise ? r.in(2, 40) : r.coin() ? 1 : r.in(1, 4);
  int64_t inputs = depthwise ? 1 : r.in(2, 24), outputs = depthwise ? 1 : r.in(1, 40);
  Shape image = {r.in(1, 2), groups * inputs}, kernel = {groups * outputs, inputs};
  llvm::SmallVector<int64_t, 3> stride, dilation;
  llvm::SmallVector<int64_t, 6> pad(6, 0);
  for (size_t i = 0; i < 3; ++i) {
    kernel.push_back(usual ? 3 : r.in(1, 4));
    stride.push_back(r.in(1, 2));
    dilation.push_back(usual ? 1 : r.in(1, 2));
    pad[i] = r.in(0, 2);
    pad[3 + i] = r.in(0, 2);
    image.push_back((kernel.back() - 1) * dilation.back() + r.in(1, 7));
  }
  NodeId x = b.input("x", image);
  if (r.coin()) x = b.op(OpKind::Neg, {x});
  NodeId bias = r.coin() ? b.weight("b", {kernel[0]}) : b.none();
  NodeId y = b.op(OpKind::Conv3d, {x, b.weight("w", kernel), bias},
                  {Value::of_ints(stride), Value::of_ints(pad), Value::of_ints(dilation)});
  if (r.coin()) y = b.op(OpKind::Relu, {y});
  b.output(y);
}

/// A conv_transpose2d at the end of a model or before a concat.
void random_transposed(Builder& b, RandomDraws& r) {
  int64_t groups = r.coin() ? 1 : r.in(1, 6);
  int64_t inputs = r.in(0, 3) == 0 ? 1 : r.in(1, 40), outputs = r.coin() ? inputs : r.in(1, 40);
  bool usual = r.coin(), row = r.in(0, 3) == 0;
  Shape kernel = {groups * inputs, outputs, row ? 1 : r.in(2, 4), usual ? 4 : r.in(1, 9)};
  llvm::SmallVector<int64_t, 2> stride = {row ? 1 : 2, usual ? 2 : r.in(1, 5)};
  llvm::SmallVector<int64_t, 2> dilation = {1, usual ? 1 : r.in(1, 2)};
  llvm::SmallVector<int64_t, 4> pad = {0, r.in(0, 1), 0, r.in(0, 1)};
  llvm::SmallVector<int64_t, 2> extra = {0, r.in(0, 1)};
  NodeId x = random_image(
      b, r, "x", {r.in(1, 2), groups * inputs, row ? 1 : r.in(1, 9), r.in(3, r.coin() ? 12 : 99)});
  NodeId bias = r.coin() ? b.weight("b", {groups * outputs}) : b.none();
  NodeId y = b.op(OpKind::ConvTranspose2d, {x, b.weight("w", kernel), bias},
                  {Value::of_ints(stride), Value::of_ints(pad), Value::of_ints(extra),
                   Value::of_ints(dilation), Value::of_int(groups)});
  if (r.in(0, 2) == 0) return add_concat(b, r, y);
  b.output(y);
}

TEST(TileConvolutions, DepthwiseAgreesWithTheDefinition) {
  expect_agreement(random_depthwise, "tile:", " depthwise ");
}

TEST(TileConvolutions, GroupsAgreeWithTheDefinition) { expect_agreement(random_grouped, "tile:"); }

TEST(TileConvolutions, DenseAgreesWithTheDefinition) {
  expect_agreement(random_dense, "tile:", " dense ");
}

TEST(TileConvolutions, OneTapAgreesWithTheDefinition) {
  expect_agreement(random_pointwise, "tile:");
}

TEST(TileConvolutions, SequencesAgreeWithTheDefinition) {
  expect_agreement(random_sequence, "tile:");
}

TEST(TileConvolutions, VolumesAgreeWithTheDefinition) { expect_agreement(random_volume, "tile:"); }

TEST(TileConvolutions, TransposedAgreeWithTheDefinition) {
  expect_agreement(random_transposed, "tile:", " transposed");
}

/// Threads share whole sums, so that the bits do not change.
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
  x = conv(x, "d", {136, 136, 3, 3}, 1);
  b.output(conv(x, "w", {136, 1, 5, 5}, 2));
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

/// Channels of a concat whose first piece is row-major: the other pieces have gaps.
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
