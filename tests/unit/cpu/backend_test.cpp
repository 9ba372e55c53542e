// Tests the choices of the cpu backend: kernels, reorders, in-place results (layouts:
// layouts_test.cpp). A choice of a kernel that is worse than another one in this library
// is a failure. Expectations that name oneDNN's AVX-512 kernels are skipped on other processors.
// Products run on Tangram's own tiles if the processor has any, and most convolutions
// on its own code. All other expectations hold on every processor.
#include "compiler/ir/retype.h"
#include "tests/unit/cpu/chosen_kernels.h"
#include "tests/unit/random_draws.h"

namespace tg::test {
namespace {

TEST(CpuBackend, ConvolutionsOfNetworksNeverFallToGemm) {
  struct Layer {
    int64_t in, size, out, kernel, stride, groups;
  };
  constexpr Layer kLayers[] = {{3, 64, 64, 7, 2, 1},     {64, 28, 64, 1, 1, 1},
                               {64, 28, 64, 3, 2, 1},    {32, 28, 32, 3, 1, 32},
                               {128, 14, 128, 3, 1, 32}, {256, 7, 512, 1, 2, 1},
                               {48, 13, 200, 5, 1, 1},   {64, 7, 64, 3, 1, 1}};
  for (const Layer& layer : kLayers) {
    Builder b;
    NodeId x = b.input("x", {1, layer.in, layer.size, layer.size});
    b.output(conv(b, x, "w", layer.out, layer.kernel, layer.stride, "relu", {}, layer.groups));
    expect_good(compare(b.graph));
  }
}

/// Threads split rows of one operand or both, of batches, of images, of sums along other axes.
TEST(CpuBackend, ThreadsShareTheRowsOfDoubles) {
  Builder b;
  NodeId x = b.input("x", {7, 300, 40}), y = b.input("y", {7, 40, 50});
  NodeId batches = b.op(OpKind::Matmul, {x, y, b.none(), b.none()});
  NodeId row =
      b.op(OpKind::Matmul, {batches, b.weight("w", {50, 64}), b.weight("b", {64}), b.none()},
           {act("tanh")});
  NodeId one = b.op(OpKind::Reshape, {row}, {Value::of_ints({2100, 64})});
  NodeId product = b.op(OpKind::Matmul, {one, b.weight("v", {64, 64}), b.none(), one});
  b.output(b.op(OpKind::Softmax, {product}));
  b.output(b.op(OpKind::LayerNorm, {product, b.weight("s", {64}), b.weight("t", {64})}));
  b.output(b.op(OpKind::ReduceSum, {row}, {Value::of_ints({1}), Value::of_bool(false)}));
  b.output(b.op(OpKind::Add,
                {product, b.op(OpKind::Mul, {b.input("z", {1, 64}), b.input("c", {2100, 1})})}));
  NodeId image = b.input("image", {5, 8, 20, 20});
  NodeId conv = b.op(OpKind::Conv2d, {image, b.weight("k", {8, 8, 3, 3}), b.none(), image},
                     {pair(1, 1), act("same")});
  b.output(b.op(OpKind::AvgPool2d, {conv}, {pair(2, 2), pair(2, 2)}));
  Plan plan = plan_from_graph(b.graph);
  ASSERT_TRUE(in_doubles(plan));
  std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
  for (int threads : {1, 2, 3}) {
    CompileOptions options;
    options.threads = threads;
    options.share_short_work = true;
    Comparison info;
    std::vector<Tensor> got = outputs_of(*make_cpu_backend(), plan, options, 2, &info);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(summarise(got[i]).checksum, summarise(want[i]).checksum)
          << i << implementations(info);
  }
}

TEST(CpuBackend, OtherConvolutionsNeverFallToPlainLoops) {
  for (int64_t groups : {1, 8})
    for (int64_t kernel : {2, 4}) {
      Builder b;
      NodeId w = b.weight("w", {32, 64 / groups, kernel, kernel});
      b.output(b.op(OpKind::ConvTranspose2d,
                    {b.input("x", {1, 32, 14, 14}), w, b.weight("b", {64})},
                    {pair(2, 2), kernel == 4 ? Value::of_int(1) : act("valid"), pair(0, 0),
                     pair(1, 1), Value::of_int(groups)}));
      expect_good(compare(b.graph));
    }
  for (int64_t channels : {1, 3, 32}) {
    Builder b;
    NodeId x = b.input("x", {1, channels, 8, 14, 14});
    b.output(b.op(OpKind::Conv3d, {x, b.weight("w", {32, channels, 3, 3, 3}), b.weight("b", {32})},
                  {Value::of_ints({1}), Value::of_ints({1})}));
    expect_good(compare(b.graph));
  }
}

TEST(CpuBackend, ScattersInPlaceIntoDyingOperands) {
  Builder b;
  NodeId x = b.op(OpKind::Relu, {b.input("x", {64, 32})});
  NodeId at = b.op(OpKind::Iota, {}, {Value::of_type({DType::I64, {3}}), Value::of_int(0)});
  b.output(b.op(OpKind::Scatter, {x, at, b.input("u", {3, 32})}));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(c.memory.arena, 64 * 32 * 4) << "no copy of x";
}

TEST(CpuBackend, ConsecutiveLayersNeedNoReorder) {
  Builder b;
  NodeId x = b.input("x", {1, 16, 12, 12});
  x = conv(b, x, "a", 32, 1, 1, "relu");
  x = b.op(OpKind::MaxPool2d, {x}, {pair(2, 2), pair(2, 2)});
  x = b.op(OpKind::Relu, {x});
  x = conv(b, x, "b", 32, 3, 2);
  b.output(b.op(OpKind::ReduceMean, {x}, {Value::of_ints({2, 3})}));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(count(c, "reorder"), 1u) << "the input's alone\n" << implementations(c);
  Comparison native = compare(b.graph, 1, IoLayout::Native);
  expect_good(native);
  EXPECT_EQ(count(native, "reorder"), 0u) << implementations(native);
}

TEST(CpuBackend, ConvolutionsAreOursWhereTheyAreFaster) {
  // Reason: own code is emitted only for AVX2 and AVX-512.
  if (!cpu::may_use_own("avx2")) GTEST_SKIP() << "with other instruction sets all are oneDNN's";
  struct Layer {
    int64_t in, size, out, kernel, stride;
    const char *avx2, *avx512; // "": oneDNN's kernel
  };
  constexpr Layer kLayers[] = {
      {64, 14, 96, 1, 1, "tile:avx2 dense", "tile:avx512 dense"},
      {256, 14, 96, 1, 1, "", "tile:avx512 dense"},      // weights exceed the first-level cache
      {64, 14, 24, 1, 1, "tile:avx2 dense", "tile:avx"}, // three half vectors or two whole ones
      {64, 14, 96, 3, 1, "tile:avx2 dense", ""},         // by Winograd's algorithm
      {64, 14, 96, 5, 2, "tile:avx2 dense", "tile:avx512 dense"},
      {3, 30, 64, 7, 2, "tile:avx2 dense", "tile:avx512 dense"},
      {1024, 6, 3, 5, 1, "", ""}}; // lines of x are evicted
  for (const Layer& layer : kLayers) {
    Builder b;
    NodeId x = b.input("x", {1, layer.in, layer.size, layer.size});
    b.output(conv(b, x, "w", layer.out, layer.kernel, layer.stride, "relu"));
    Comparison c = compare(b.graph);
    expect_good(c);
    llvm::StringRef want = avx512() ? layer.avx512 : layer.avx2;
    std::string kernel = kernel_of(c, "conv2d");
    bool is_ours = llvm::StringRef(kernel).startswith("tile:");
    EXPECT_EQ(is_ours, !want.empty()) << layer.in << " to " << layer.out << implementations(c);
    EXPECT_TRUE(llvm::StringRef(kernel).startswith(want)) << kernel;
  }
}

/// Operators on volumes and on sequences (conv2d of one row), and transposed ones.
TEST(CpuBackend, OtherConvolutionsAreOursWhereTheyAreFaster) {
  // Reason: own code is emitted only for AVX2 and AVX-512; other processors have no choice.
  if (!cpu::may_use_own("avx2")) GTEST_SKIP() << "with other instruction sets all are oneDNN's";
  struct Layer {
    OpKind op;
    Shape image, kernel;
    int64_t stride, groups;
    const char* kind; // of the own kernel; "": oneDNN's
  };
  const Layer kLayers[] = {
      {OpKind::Conv3d, {1, 16, 5, 14, 14}, {32, 16, 3, 3, 3}, 1, 1, "dense"},
      {OpKind::Conv3d, {1, 64, 5, 14, 14}, {64, 64, 3, 1, 1}, 1, 1, "dense"},
      {OpKind::Conv3d, {1, 128, 5, 14, 14}, {128, 128, 1, 1, 1}, 2, 1, "dense"},
      {OpKind::Conv3d, {1, 32, 5, 14, 14}, {32, 4, 3, 3, 3}, 1, 8, "grouped"},
      {OpKind::Conv3d, {1, 24, 5, 14, 14}, {24, 1, 3, 3, 3}, 1, 24, "depthwise"},
      {OpKind::Conv2d, {1, 64, 1, 2000}, {48, 64, 1, 3}, 2, 1, "dense"},
      {OpKind::Conv2d, {1, 64, 1, 400}, {64, 1, 1, 31}, 1, 64, "depthwise"},
      {OpKind::Conv2d, {1, 288, 1, 9000}, {10, 288, 1, 4}, 3, 1, ""}, // bound by memory
      {OpKind::ConvTranspose2d, {1, 64, 14, 14}, {64, 32, 2, 2}, 2, 1, "transposed "},
      {OpKind::ConvTranspose2d, {1, 64, 14, 14}, {64, 32, 4, 4}, 2, 1, "transposed "},
      {OpKind::ConvTranspose2d, {1, 64, 1, 60}, {64, 32, 1, 16}, 8, 1, "transposed "},
      {OpKind::ConvTranspose2d, {1, 64, 14, 14}, {64, 8, 4, 4}, 2, 8, "transposed, g"},
      {OpKind::ConvTranspose2d, {1, 64, 14, 14}, {64, 1, 4, 4}, 2, 64, "transposed, d"}};
  for (const Layer& layer : kLayers) {
    Builder b;
    NodeId x = b.input("x", layer.image), w = b.weight("w", layer.kernel);
    bool row = layer.image[2] == 1;
    Value stride = Value::of_ints({row ? 1 : layer.stride, layer.stride});
    switch (layer.op) {
    case OpKind::Conv3d:
      b.output(b.op(layer.op, {x, w, b.none()}, {Value::of_ints({layer.stride})}));
      break;
    case OpKind::Conv2d: b.output(b.op(layer.op, {x, w, b.none(), b.none()}, {stride})); break;
    default:
      b.output(b.op(layer.op, {x, w, b.none()},
                    {stride, act("valid"), pair(0, 0), pair(1, 1), Value::of_int(layer.groups)}));
    }
    Comparison c = compare(b.graph);
    expect_good(c);
    std::string implementation = kernel_of(c, op_info(layer.op).name);
    auto [where, what] = llvm::StringRef(implementation).split(' ');
    bool ours = where.startswith("tile:");
    EXPECT_EQ(ours, layer.kind[0] != 0) << implementations(c);
    EXPECT_TRUE(!ours || what.startswith(layer.kind)) << layer.kind << implementations(c);
  }
}

TEST(CpuBackend, WinogradWhereItPays) {
  if (!avx512()) GTEST_SKIP() << "oneDNN has Winograd for AVX-512 alone";
  Builder b;
  NodeId x = b.input("x", {1, 64, 14, 14});
  x = conv(b, x, "a", 64, 3, 1, "relu");
  b.output(conv(b, x, "b", 128, 3, 2)); // stride 2: direct
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_NE(kernel_of(c, "conv2d").find("wino"), std::string::npos) << implementations(c);
}

NodeId filtering(Builder& b, NodeId x, const char* path, int64_t out, NodeId residual = {}) {
  NodeId w = b.weight(path, {out, b.graph.type(x)[1], 3, 3});
  NodeId u = b.op(OpKind::WinogradWeight, {w}, {Value::of_int(4)});
  return b.op(OpKind::WinogradConv2d, {x, u, b.none(), residual.valid() ? residual : b.none()},
              {act("same"), act("relu")});
}

TEST(CpuBackend, MinimalFilteringNeitherReordersNorCopies) {
  Builder b;
  NodeId x = conv(b, b.input("x", {1, 16, 9, 9}), "a", 32, 1, 1, "relu");
  NodeId y = filtering(b, x, "f", 32, x); // the residual is the image, which is read again later
  b.output(b.op(OpKind::Concat, {filtering(b, y, "g", 16), filtering(b, y, "h", 48, {})},
                {Value::of_int(1)}));
  Comparison c = compare(b.graph, 1, IoLayout::Plain);
  EXPECT_LE(c.difference, kTolerance);
  EXPECT_EQ(kernel_of(c, "winograd_conv2d").rfind("winograd4:", 0), 0u) << implementations(c);
  EXPECT_EQ(kernel_of(c, "concat"), "in place") << implementations(c);
  EXPECT_EQ(count(c, "copy residual"), 0u) << implementations(c);
  EXPECT_EQ(count(c, "reorder"), 2u) << "the input's and the output's\n" << implementations(c);
}

/// Heads are split off by reshapes and transposes, and merged again later. All of these are views,
/// also if groups of heads share keys and values.
TEST(CpuBackend, AttentionCopiesNoHeads) {
  for (int64_t each : {1, 4}) {
    Builder b;
    int64_t groups = 3, rows = 24, width = 16, all = groups * each * width;
    auto heads = [&](const char* name, int64_t of_group, Shape perm) {
      NodeId x = b.input(name, {rows, groups * of_group * width});
      x = b.op(OpKind::Reshape, {x}, {Value::of_ints({rows, groups, of_group, width})});
      return b.op(OpKind::Transpose, {x}, {Value::of_ints(perm)});
    };
    NodeId y = b.op(OpKind::Attention, {heads("q", each, {1, 2, 0, 3}), heads("k", 1, {1, 2, 3, 0}),
                                        heads("v", 1, {1, 2, 0, 3}), b.none(), b.none()});
    y = b.op(OpKind::Reshape, {y}, {Value::of_ints({groups * each, rows, width})});
    y = b.op(OpKind::Transpose, {y}, {Value::of_ints({1, 0, 2})});
    b.output(b.op(OpKind::Reshape, {y}, {Value::of_ints({rows, all})}));
    Comparison c = compare(b.graph, 1, IoLayout::Plain);
    EXPECT_LE(c.difference, kTolerance);
    EXPECT_EQ(kernel_of(c, "attention").rfind("tile:", 0), 0u) << implementations(c);
    EXPECT_EQ(count(c, "copy"), 0u) << implementations(c);
    EXPECT_EQ(count(c, "reorder"), 0u) << implementations(c);
  }
}

TEST(CpuBackend, AResidualThatDiesIsAddedToInPlace) {
  Builder b;
  NodeId x = b.input("x", {1, 16, 9, 9});
  NodeId left = conv(b, x, "a", 128, 1, 1, "relu"), right = conv(b, x, "b", 128, 1, 1);
  b.output(conv(b, left, "c", 128, 1, 1, "relu", right));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(count(c, "copy residual"), 0u) << implementations(c);
}

/// With oneDNN's kernels. The own kernels read the residual in place.
TEST(CpuBackend, AResidualThatLivesOnIsCopied) {
  Builder b;
  NodeId x = b.input("x", {1, 16, 9, 9});
  NodeId left = conv(b, x, "a", 128, 1, 1, "relu"), right = conv(b, x, "b", 128, 1, 1);
  b.output(conv(b, left, "c", 128, 1, 1, "relu", right));
  b.output(b.op(OpKind::Tanh, {right}));
  Comparison c = compare(b.graph, 1, IoLayout::Plain, Products::Library);
  expect_good(c);
  EXPECT_EQ(count(c, "copy residual"), 1u) << implementations(c);
}

TEST(CpuBackend, AResidualThatIsTheSourceIsNotWrittenOver) {
  Builder b;
  NodeId x = b.op(OpKind::Relu, {b.input("x", {1, 16, 9, 9})});
  b.output(conv(b, x, "a", 16, 3, 1, "relu", x));
  expect_good(compare(b.graph));
  Builder m;
  NodeId y = m.op(OpKind::Relu, {m.input("x", {5, 16})});
  m.output(m.op(OpKind::Matmul, {y, m.weight("w", {16, 16}), m.none(), y}, {act("tanh")}));
  expect_good(compare(m.graph));
}

std::string kernel_of_product(Shape x, Shape y, bool constant) {
  Builder b;
  NodeId w = constant ? b.weight("w", y) : b.input("w", y);
  b.output(b.op(OpKind::Matmul, {b.input("x", x), w, b.none(), b.none()}));
  Comparison c = compare(b.graph);
  expect_good(c);
  return kernel_of(c, "matmul");
}

/// Products run on the best tiles of the processor, with a matrix that is packed at load,
/// if the rule prefers tiles.
TEST(CpuBackend, ProductsRunOnTiles) {
  const char* isa = avx512() ? "avx512" : cpu::may_use_own("avx2") ? "avx2" : nullptr;
  auto expect = [&](Shape x, Shape y, bool constant, llvm::StringRef avx2_tile,
                    llvm::StringRef avx512_tile) {
    std::string kernel = kernel_of_product(x, y, constant);
    llvm::StringRef tile = avx512() ? avx512_tile : avx2_tile;
    EXPECT_EQ(isa && !tile.empty(), llvm::StringRef(kernel).startswith("tile:")) << kernel;
    if (isa && !tile.empty()) {
      EXPECT_EQ(kernel, ("tile:" + llvm::StringRef(isa) + " " + tile).str());
    }
  };
  expect({128, 96}, {96, 64}, true, "6x16", "13x32");
  expect({2, 64, 96}, {96, 20}, true, "6x16", "13x32");
  expect({128, 96}, {96, 10}, true, "6x16", "13x32"); // half a panel
  expect({1, 96}, {96, 1024}, true, "1x64", "1x128");
  expect({2, 96}, {96, 64}, true, "2x48", "2x128");
  expect({7, 96}, {96, 64}, true, "4x16", "7x32");
  expect({3, 64, 24}, {3, 24, 40}, false, "", "");
  expect({3, 64, 24}, {3, 24, 40}, true, "", "");
  expect({1, 24}, {24, 40}, false, "", "");
}

/// Each kernel converts its operands and results itself. A product of few rows runs on tiles that
/// multiply bf16, if the processor has them, and one of more rows on its matrix unit (AMX).
TEST(CpuBackend, Bf16IsConvertedByNoStepOfItsOwn) {
  // Reason: oneDNN multiplies bf16 only with AVX-512; without it, products convert
  // in separate steps.
  if (!avx512()) GTEST_SKIP() << "before AVX-512 products of bf16 are those of f32";
  Builder b;
  NodeId x = b.input("x", {20, 64}), image = b.input("image", {1, 6, 5, 5});
  NodeId y = b.op(OpKind::Matmul, {x, b.weight("w", {64, 48}), b.weight("b", {48}), b.none()},
                  {act("gelu")});
  y = b.op(OpKind::LayerNorm, {y, b.weight("s", {48}), b.weight("t", {48})});
  b.output(b.op(OpKind::Softmax, {y}));
  auto channels = [&](const char* name) { return b.weight(name, {6}); };
  b.output(b.op(OpKind::BatchNorm, {image, channels("c"), channels("d"), channels("mean"),
                                    b.op(OpKind::Exp, {channels("var")})}));
  Graph narrow = *retype(b.graph, DType::BF16);
  Comparison c;
  outputs_of(*make_cpu_backend(), plan_from_graph(narrow), {}, 2, &c);
  EXPECT_EQ(count(c, "convert"), 0u) << implementations(c);
  bool unit = cpu::may_use(dnnl_cpu_isa_avx512_core_amx);
  bool tiles = cpu::may_use_own("avx512_bf16") && !unit;
  EXPECT_EQ(llvm::StringRef(kernel_of(c, "matmul")).startswith("tile:avx512_bf16"), tiles);
  EXPECT_EQ(llvm::StringRef(kernel_of(c, "matmul")).contains("amx"), unit);
}

/// Tiles read the residual in place.
TEST(CpuBackend, TilesCopyNoResidual) {
  // On an older processor, or with a lower DNNL_MAX_CPU_ISA, products are oneDNN's, which copies a
  // residual that is read again later. No own kernel runs then.
  if (!cpu::may_use_own("avx2")) GTEST_SKIP() << "no tiles for this instruction set";
  for (bool lives_on : {false, true}) {
    Builder b;
    NodeId r = b.op(OpKind::Relu, {b.input("r", {20, 48})});
    NodeId x = b.input("x", {20, 64});
    b.output(b.op(OpKind::Matmul, {x, b.weight("w", {64, 48}), b.none(), r}, {act("tanh")}));
    if (lives_on) b.output(r);
    Plan plan = plan_from_graph(b.graph);
    std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
    Comparison c;
    std::vector<Tensor> got = outputs_of(*make_cpu_backend(Products::Tiles), plan, {}, 2, &c);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_LE(max_rel_diff(got[i], want[i]), kTolerance);
    EXPECT_EQ(count(c, "copy residual"), 0u) << implementations(c);
    EXPECT_EQ(kernel_of(c, "matmul").rfind("tile:", 0), 0u) << implementations(c);
  }
}

/// Rows and columns are summed in parts, whose number depends only on the shape.
TEST(CpuBackend, ThreadsChangeNoBitOfLongSums) {
  auto outputs = [](int threads) {
    Builder b;
    NodeId x = b.input("x", {2, 70001});
    NodeId image =
        b.op(OpKind::MaxPool2d, {b.input("i", {1, 24, 90, 70})}, {pair(1, 1), pair(1, 1)});
    b.output(b.op(OpKind::LayerNorm, {x, b.weight("s", {70001}), b.weight("b", {70001})}));
    b.output(b.op(OpKind::ReduceMean, {image}, {Value::of_ints({2, 3}), Value::of_bool(true)}));
    CompileOptions options;
    options.threads = threads;
    options.share_short_work = true;
    EXPECT_LE(compare(b.graph, threads).difference, kTolerance);
    return outputs_of(*make_cpu_backend(), plan_from_graph(b.graph), options);
  };
  auto one = outputs(1), three = outputs(3);
  ASSERT_EQ(one.size(), 2u);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(summarise(one[i]).checksum, summarise(three[i]).checksum);
}

/// As in local response normalisation. A vector has neighbours along the axis that no window spans.
TEST(CpuBackend, WindowsOfOneColumnOverOneChannel) {
  for (OpKind op : {OpKind::AvgPool2d, OpKind::MaxPool2d})
    for (Shape shape : {Shape{1, 1, 9, 37}, {3, 1, 20, 16}, {2, 1, 5, 1}})
      for (int64_t stride : {1, 2}) {
        Builder b;
        std::vector<Value> attrs = {test::pair(5, 1), test::pair(stride, 1),
                                    Value::of_ints({2, 0, 2, 0})};
        if (op == OpKind::AvgPool2d) attrs.push_back(Value::of_bool(true));
        b.output(b.op(op, {b.input("x", shape)}, attrs));
        EXPECT_LE(compare(b.graph, 2).difference, 1e-6);
      }
}

TEST(CpuBackend, DoesNotRunGlobalPoolingAsAPlainLoop) {
  for (OpKind kind : {OpKind::MaxPool2d, OpKind::AvgPool2d}) {
    Builder b;
    NodeId x = conv(b, b.input("x", {1, 16, 13, 13}), "w", 40, 1, 1);
    b.output(b.op(kind, {x}, {pair(13, 13), pair(1, 1)}));
    Comparison c = compare(b.graph);
    EXPECT_LE(c.difference, kTolerance);
    EXPECT_FALSE(is_poor(kernel_of(c, std::string(op_info(kind).name)))) << implementations(c);
  }
}

TEST(CpuBackend, ComputesExpressionsOfWeightsAtLoad) {
  Builder b;
  NodeId x = b.input("x", {4, 16});
  NodeId w = b.op(OpKind::Mul, {b.weight("w", {16, 16}), b.weight("s", {16})});
  w = b.op(OpKind::Concat, {w, b.op(OpKind::Neg, {w})}, {Value::of_int(1)});
  b.output(b.op(OpKind::Matmul, {x, w, b.none(), b.none()}));
  Comparison c = compare(b.graph);
  expect_good(c);
  EXPECT_EQ(c.steps.size(), 1u) << implementations(c);
}

/// A convolution, an operator on its result (or none), and a relu.
Comparison between_neighbours(OpKind op, std::vector<Value> attrs) {
  Builder b;
  NodeId x = conv(b, b.input("x", {1, 16, 14, 14}), "w", 32, 3, 1);
  if (op != OpKind::None) x = b.op(op, {x}, std::move(attrs));
  b.output(b.op(OpKind::Relu, {x}));
  return compare(b.graph);
}

// Views are not timed. So an operator that is called a view may not run a kernel or make its
// neighbours reorder.
TEST(CpuBackend, RunsNoKernelForViews) {
  std::unique_ptr<Backend> cpu = make_cpu_backend();
  size_t reorders = count(between_neighbours(OpKind::None, {}), "reorder");
  std::pair<OpKind, std::vector<Value>> views[] = {
      {OpKind::Identity, {}},
      {OpKind::Transpose, {Value::of_ints({0, 2, 3, 1})}},
      {OpKind::Slice, {Value::of_int(1), Value::of_int(3), Value::of_int(30)}}};
  for (auto& [op, attrs] : views) {
    EXPECT_TRUE(cpu->is_view(op, f32({1})));
    EXPECT_FALSE(cpu->is_view(op, {DType::BF16, {1}})) << "it is computed in f32";
    Comparison c = between_neighbours(op, attrs);
    EXPECT_EQ(kernel_of(c, std::string(op_info(op).name)), "view") << implementations(c);
    EXPECT_LE(count(c, "reorder"), reorders) << implementations(c);
  }
  for (OpKind op : {OpKind::Reshape, OpKind::Concat, OpKind::Relu})
    EXPECT_FALSE(cpu->is_view(op, f32({1})));
}

TEST(CpuBackend, OutputsThatAreInputsWeightsOrViews) {
  Builder b;
  NodeId x = b.input("x", {3, 4}), w = b.weight("w", {2, 5});
  b.output(x);
  b.output(w);
  b.output(b.op(OpKind::Transpose, {x}, {Value::of_ints({1, 0})}));
  b.output(b.op(OpKind::Slice, {w}, {Value::of_int(1), Value::of_int(1), Value::of_int(3)}));
  b.output(b.graph.constant({0.5}, f32({2, 2})));
  EXPECT_EQ(compare(b.graph).difference, 0);
}

TEST(CpuBackend, ScalarsAndOneElement) {
  Builder b;
  NodeId x = b.input("x", {});
  b.output(b.op(OpKind::Add, {x, b.graph.constant({2}, f32(Shape{}))}));
  EXPECT_LE(compare(b.graph).difference, kTolerance);
}

TEST(CpuBackend, MoreThanTheMemoryLimitIsRefused) {
  Builder b;
  NodeId x = b.input("x", {1, 64});
  b.output(b.op(OpKind::Matmul, {x, b.weight("w", {64, 4096}), b.none(), b.none()}));
  CompileOptions options;
  options.memory_limit_bytes = 1000;
  auto executable = make_cpu_backend()->compile(plan_from_graph(b.graph), options);
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().code, Code::memory_limit);
}

TEST(CpuBackend, WrongInputsAreRefused) {
  Builder b;
  b.output(b.op(OpKind::Relu, {b.input("x", {2, 3})}));
  auto executable = make_cpu_backend()->compile(plan_from_graph(b.graph), {});
  ASSERT_TRUE(executable.ok());
  auto result = (*executable)->bind_inputs({Tensor::of_floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::bad_input_value);
}

TEST(CpuBackend, ThreadsChangeNoMoreThanRounding) {
  Builder b;
  NodeId x = b.input("x", {1, 16, 40, 40});
  x = conv(b, x, "a", 64, 3, 1, "relu");
  x = b.op(OpKind::Sigmoid, {b.op(OpKind::Add, {x, conv(b, x, "b", 64, 1, 1)})});
  b.output(x);
  for (int threads : {1, 2, 5}) expect_good(compare(b.graph, threads));
}

TEST(CpuBackend, LargeTensorsThroughAllOwnKernelsOnThreads) {
  Builder b;
  NodeId x = b.input("x", {1, 96, 64, 64});
  NodeId y = b.op(OpKind::MaxPool2d, {x}, {pair(1, 1), pair(1, 1)});
  y = b.op(OpKind::FusedMap, {y, b.weight("s", {96, 1, 1}), b.weight("t", {1, 96, 1, 1})},
           {Value::of_string("tanh(add(mul($0, $1), $2))")});
  b.output(b.op(OpKind::ReduceSum, {b.op(OpKind::Exp, {y})}, {Value::of_ints({2, 3})}));
  b.output(b.op(OpKind::Softmax, {y}, {Value::of_int(1)}));
  b.output(b.op(OpKind::LayerNorm, {y, b.weight("ls", {64}), b.weight("lb", {64})}));
  for (int threads : {1, 3}) expect_good(compare(b.graph, threads));
}

TEST(CpuBackend, AWeightThatStepsShareIsPackedOnce) {
  Builder b;
  NodeId x = b.input("x", {1, 256}), w = b.weight("w", {256, 256});
  NodeId image = b.input("image", {1, 64, 10, 10}), k = b.weight("k", {64, 64, 3, 3});
  for (int i = 0; i < 6; ++i) {
    x = b.op(OpKind::Tanh, {b.op(OpKind::Matmul, {x, w, b.none(), b.none()})});
    image = b.op(OpKind::Conv2d, {image, k, b.none(), b.none()},
                 {pair(1, 1), Value::of_enum("same"), pair(1, 1), act("tanh")});
  }
  b.output(x);
  b.output(image);
  Comparison result = compare(b.graph);
  expect_good(result);
  int64_t once = b.graph.type(w).bytes() + b.graph.type(k).bytes();
  EXPECT_LT(result.memory.weights, 3 * once) << "as they are, and packed";
}

/// A value that is computed at load may reuse its operand's memory.
TEST(CpuBackend, PacksAWeightAgainWhoseMemoryIsReused) {
  Builder b;
  NodeId x = b.input("x", {4, 64});
  NodeId w = b.op(OpKind::Add, {b.weight("a", {64, 64}), b.weight("b", {64, 64})});
  NodeId first = b.op(OpKind::Matmul, {x, w, b.none(), b.none()});
  NodeId other = b.op(OpKind::Tanh, {w});
  b.output(b.op(OpKind::Matmul, {first, other, b.none(), b.none()}));
  b.output(first);
  expect_good(compare(b.graph));
}

TEST(CpuBackend, ProfilingTimesEveryKernel) {
  Builder b;
  b.output(conv(b, b.input("x", {1, 8, 12, 12}), "w", 16, 3, 1));
  auto executable = make_cpu_backend()->compile(plan_from_graph(b.graph), {});
  ASSERT_TRUE(executable.ok());
  (*executable)->profile(true);
  ASSERT_TRUE((*executable)->run_once().ok());
  for (const StepInfo& step : (*executable)->steps()) EXPECT_GT(step.measured_us, 0);
  EXPECT_GT((*executable)->memory().total(), 0);
}

/// Its step times then include two runs. This is oneDNN's kernel, with any instruction set.
TEST(CpuBackend, ARunThatANaNMadeAnewIsCounted) {
  Builder b;
  b.output(conv(b, b.input("x", {1, 8, 12, 12}), "w", 16, 1, 1, "relu"));
  Plan plan = plan_from_graph(b.graph);
  auto executable = make_cpu_backend(Products::Library)->compile(plan, {});
  ASSERT_TRUE(executable.ok());
  Tensor input = *Tensor::zeros(plan.values[plan.inputs[0]].type);
  ASSERT_TRUE((*executable)->run({input}).ok());
  EXPECT_EQ((*executable)->repeated_runs(), 0u);
  *reinterpret_cast<float*>(input.data()) = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE((*executable)->run({input}).ok());
  EXPECT_EQ((*executable)->repeated_runs(), 1u);
}

} // namespace
} // namespace tg::test
