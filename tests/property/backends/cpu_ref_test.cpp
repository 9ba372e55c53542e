// Tests the cpu backend against `ref` on random operator instances: shapes, strides, padding,
// groups, broadcasting, activations, residuals, views between operators, one and two threads,
// and both layouts of inputs and outputs. Seeds are fixed. A failure prints the graph.
#include "tests/unit/cpu/compare.h"
#include "tests/unit/random_draws.h"

namespace tg::test {
namespace {

constexpr double kTolerance = 2e-5;

using Random = RandomDraws;

/// In doubles both run the same loops, which `cpu` may split by rows.
void expect_same_doubles(const Builder& b, int threads) {
  Plan plan = plan_from_graph(b.graph);
  if (!in_doubles(plan)) return;
  CompileOptions options;
  options.threads = threads;
  options.share_short_work = true;
  auto want = outputs_of(*make_ref_backend(), plan, {});
  auto got = outputs_of(*make_cpu_backend(), plan, options, 2);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].type(), want[i].type());
    EXPECT_EQ(summarise(got[i]).checksum, summarise(want[i]).checksum) << dump(b.graph);
  }
}

void expect_equal(const Builder& b, Random& random) {
  int threads = random.coin() ? 1 : 2;
  IoLayout layout = random.coin() ? IoLayout::Plain : IoLayout::Native;
  Comparison c = compare(b.graph, threads, layout);
  EXPECT_LE(c.difference, kTolerance) << dump(b.graph) << implementations(c) << threads
                                      << " threads, native " << (layout == IoLayout::Native);
  expect_same_doubles(b, threads);
}

Value random_act(Random& r) { return act(r.of({"none", "relu", "tanh", "sigmoid", "gelu"})); }

NodeId maybe_view(Builder& b, Random& r, NodeId x) {
  const Shape shape = b.graph.type(x).shape;
  switch (r.in(0, 5)) {
  case 0: { // slice
    int64_t axis = r.in(0, static_cast<int64_t>(shape.size()) - 1);
    int64_t size = shape[static_cast<size_t>(axis)], start = r.in(0, size - 1);
    return b.op(OpKind::Slice, {x},
                {Value::of_int(axis), Value::of_int(start), Value::of_int(r.in(start + 1, size))});
  }
  case 1: { // exchange two axes
    llvm::SmallVector<int64_t> perm;
    for (size_t i = 0; i < shape.size(); ++i) perm.push_back(static_cast<int64_t>(i));
    std::swap(perm[static_cast<size_t>(r.in(0, static_cast<int64_t>(shape.size()) - 1))],
              perm.back());
    return b.op(OpKind::Transpose, {x}, {Value::of_ints(perm)});
  }
  case 2: { // merge the first two axes
    if (shape.size() < 2) return x;
    Shape merged(shape.begin() + 1, shape.end());
    merged[0] *= shape[0];
    return b.op(OpKind::Reshape, {x}, {Value::of_ints(merged)});
  }
  case 3: return b.op(OpKind::Relu, {x});
  default: return x;
  }
}

TEST(CpuRef, Conv2d) {
  Random r(1);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    int64_t groups = r.of<int64_t>({1, 1, 1, 2, 4, 16});
    int64_t inner = r.in(1, 20), outer = r.in(1, 20);
    if (r.in(0, 3) == 0) inner = outer = 1; // depthwise
    int64_t kh = r.in(1, 5), kw = r.coin() ? kh : r.in(1, 4), size = r.in(7, 17);
    int64_t dilation = r.in(0, 4) == 0 ? 2 : 1;
    if ((kh - 1) * dilation >= size || (kw - 1) * dilation >= size) dilation = 1;
    Shape image = {r.in(1, 2), groups * inner, size, r.in(8, 15)};
    NodeId x = b.input("x", image);
    NodeId w = b.weight("w", {groups * outer, inner, kh, kw});
    Value pad = act("same");
    if (r.coin())
      pad = act("valid");
    else if (r.coin())
      pad = Value::of_ints({r.in(0, kh - 1), r.in(0, kw - 1), r.in(0, kh - 1), r.in(0, kw - 1)});
    std::vector<Value> attrs = {pair(r.in(1, 2), r.in(1, 3)), pad, pair(dilation, dilation),
                                random_act(r)};
    NodeId bias = r.coin() ? b.weight("b", {groups * outer}) : b.none();
    NodeId plain = b.op(OpKind::Conv2d, {x, w, b.none(), b.none()}, attrs);
    NodeId residual = b.none();
    if (r.coin()) {
      residual = b.input("residual", b.graph.type(plain).shape);
      if (r.coin()) residual = b.op(OpKind::Relu, {residual});
    }
    NodeId y = b.op(OpKind::Conv2d, {x, w, bias, residual}, attrs);
    b.output(y);
    if (residual != b.none() && r.coin()) b.output(b.op(OpKind::Neg, {residual}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, TransposedConvolutions) {
  Random r(21);
  for (int round = 0; round < 120; ++round) {
    Builder b;
    int64_t groups = r.of<int64_t>({1, 1, 2, 4}), inputs = groups * r.of<int64_t>({1, 3, 8, 16});
    int64_t each = r.of<int64_t>({1, 2, 5, 16});
    NodeId x = b.input("x", {r.in(1, 2), inputs, r.in(1, 9), r.in(1, 9)});
    if (r.coin()) x = b.op(OpKind::Relu, {x});
    NodeId w = b.weight("w", {inputs, each, r.in(1, 4), r.in(1, 4)});
    NodeId bias = r.coin() ? b.weight("b", {each * groups}) : b.none();
    Value pad = r.of({act("valid"), Value::of_int(0), Value::of_ints({1, 0, 0, 1})});
    const Shape& kernel = b.graph.type(w).shape;
    std::vector<Value> attrs = {pair(r.in(1, 3), r.in(1, 3)), pad, pair(r.in(0, 2), r.in(0, 2)),
                                pair(r.in(1, 2), r.in(1, 2)), Value::of_int(groups)};
    bool fits = kernel[2] + b.graph.type(x)[2] > 2 && kernel[3] + b.graph.type(x)[3] > 2;
    if (!fits) attrs[1] = act("valid");
    NodeId y = b.op(OpKind::ConvTranspose2d, {x, w, bias}, attrs);
    b.output(r.coin() ? b.op(OpKind::Relu, {y}) : y);
    expect_equal(b, r);
  }
}

TEST(CpuRef, ConvolutionsOfVolumes) {
  Random r(22);
  for (int round = 0; round < 100; ++round) {
    Builder b;
    int64_t groups = r.of<int64_t>({1, 1, 2, 8}), inputs = groups * r.of<int64_t>({1, 3, 16});
    NodeId x = b.input("x", {r.in(1, 2), inputs, r.in(1, 6), r.in(1, 7), r.in(1, 8)});
    NodeId w = b.weight("w", {groups * r.of<int64_t>({1, 2, 16}), inputs / groups, r.in(1, 3),
                              r.in(1, 3), r.in(1, 3)});
    NodeId bias = r.coin() ? b.weight("b", {b.graph.type(w)[0]}) : b.none();
    auto three = [&](int64_t low, int64_t high) {
      return Value::of_ints({r.in(low, high), r.in(low, high), r.in(low, high)});
    };
    Value pad = Value::of_ints({2, 2, 2, r.in(2, 4), 2, r.in(2, 4)}); // for dilated kernels
    NodeId y = b.op(OpKind::Conv3d, {x, w, bias}, {three(1, 3), pad, three(1, 2)});
    b.output(r.coin() ? b.op(OpKind::Relu, {y}) : y);
    expect_equal(b, r);
  }
}

TEST(CpuRef, WinogradWithBiasResidualAndActivation) {
  Random r(10);
  for (int round = 0; round < 24; ++round) {
    Builder b;
    int64_t in = 16 * r.in(1, 3), out = 16 * r.in(1, 3), size = r.in(13, 19);
    NodeId x = b.op(OpKind::Relu, {b.input("x", {1, in, size, size})});
    NodeId w = b.weight("w", {out, in, 3, 3});
    Value pad = act(r.coin() ? "same" : "valid");
    std::vector<Value> attrs = {pair(1, 1), pad, pair(1, 1), random_act(r)};
    NodeId bias = r.coin() ? b.weight("b", {out}) : b.none(), residual = b.none();
    NodeId plain = b.op(OpKind::Conv2d, {x, w, b.none(), b.none()}, attrs);
    if (r.coin()) residual = b.op(OpKind::Tanh, {b.input("residual", b.graph.type(plain).shape)});
    b.output(b.op(OpKind::Conv2d, {x, w, bias, residual}, attrs));
    if (residual != b.none() && r.coin()) b.output(b.op(OpKind::Neg, {residual}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, MinimalFiltering) {
  Random r(12);
  for (int round = 0; round < 60; ++round) {
    Builder b;
    int64_t groups = r.of<int64_t>({1, 1, 2, 4}), inner = r.in(1, 24), outer = r.in(1, 40);
    Shape image = {r.in(1, 2), groups * inner, r.in(3, 19), r.in(3, 19)};
    NodeId x = maybe_view(b, r, b.op(OpKind::Relu, {b.input("x", image)}));
    if (b.graph.type(x).shape.size() != 4 || b.graph.type(x)[1] != image[1] ||
        b.graph.type(x)[2] < 3 || b.graph.type(x)[3] < 3)
      continue;
    NodeId w = b.weight("w", {groups * outer, inner, 3, 3});
    NodeId u = b.op(OpKind::WinogradWeight, {w}, {Value::of_int(r.coin() ? 2 : 4)});
    Value pad = act(r.coin() ? "same" : "valid");
    if (r.coin()) pad = Value::of_ints({r.in(0, 2), r.in(0, 2), r.in(0, 2), r.in(0, 2)});
    std::vector<Value> attrs = {pad, random_act(r)};
    NodeId bias = r.coin() ? b.weight("b", {groups * outer}) : b.none(), residual = b.none();
    NodeId plain = b.op(OpKind::WinogradConv2d, {x, u, b.none(), b.none()}, attrs);
    if (r.coin()) residual = b.op(OpKind::Tanh, {b.input("residual", b.graph.type(plain).shape)});
    NodeId y = b.op(OpKind::WinogradConv2d, {x, u, bias, residual}, attrs);
    if (r.coin()) y = b.op(OpKind::Concat, {plain, y}, {Value::of_int(1)}); // written in place
    b.output(y);
    if (residual != b.none() && r.coin()) b.output(b.op(OpKind::Neg, {residual}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, Matmul) {
  Random r(2);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    int64_t m = r.of<int64_t>({1, 1, 2, 7, 33}), k = r.in(1, 70), n = r.in(1, 70);
    Shape lead_x, lead_y;
    for (int64_t i = r.in(0, 2); i > 0; --i) {
      int64_t size = r.in(1, 4);
      lead_x.push_back(r.in(0, 3) == 0 ? 1 : size);
      lead_y.push_back(r.in(0, 3) == 0 ? 1 : size);
    }
    if (r.coin()) lead_y.clear();
    Shape xs = lead_x, ys = lead_y;
    bool turn_x = r.in(0, 2) == 0, turn_y = r.in(0, 2) == 0;
    xs.append(turn_x ? std::initializer_list<int64_t>{k, m} : std::initializer_list<int64_t>{m, k});
    ys.append(turn_y ? std::initializer_list<int64_t>{n, k} : std::initializer_list<int64_t>{k, n});
    auto turned = [&](NodeId x, bool turn) {
      if (!turn) return x;
      llvm::SmallVector<int64_t> perm;
      for (size_t i = 0; i < b.graph.type(x).shape.size(); ++i)
        perm.push_back(static_cast<int64_t>(i));
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return b.op(OpKind::Transpose, {x}, {Value::of_ints(perm)});
    };
    NodeId x = turned(b.input("x", xs), turn_x);
    NodeId y = turned(r.coin() ? b.weight("y", ys) : b.input("y", ys), turn_y);
    Value activation = random_act(r);
    NodeId plain = b.op(OpKind::Matmul, {x, y, b.none(), b.none()}, {activation});
    NodeId bias = r.coin() ? b.weight("b", {n}) : b.none(), residual = b.none();
    if (r.coin()) residual = b.op(OpKind::Tanh, {b.input("residual", b.graph.type(plain).shape)});
    NodeId z = b.op(OpKind::Matmul, {x, y, bias, residual}, {activation});
    b.output(maybe_view(b, r, z));
    expect_equal(b, r);
  }
}

TEST(CpuRef, AttentionReadsAndWritesExchangedAxes) {
  Random r(3);
  for (int round = 0; round < 30; ++round) {
    Builder b;
    int64_t heads = r.in(1, 5), seq = r.in(1, 20), width = r.in(1, 18), all = heads * width;
    NodeId x = b.input("x", {seq, all});
    auto project = [&](const char* path) {
      NodeId y = b.op(OpKind::Matmul, {x, b.weight(path, {all, all}), b.none(), b.none()});
      return b.op(OpKind::Reshape, {y}, {Value::of_ints({seq, heads, width})});
    };
    NodeId q = b.op(OpKind::Transpose, {project("q")}, {Value::of_ints({1, 0, 2})});
    NodeId k = b.op(OpKind::Transpose, {project("k")}, {Value::of_ints({1, 2, 0})});
    NodeId v = b.op(OpKind::Transpose, {project("v")}, {Value::of_ints({1, 0, 2})});
    NodeId scores = b.op(OpKind::Matmul, {q, k, b.none(), b.none()});
    NodeId p = b.op(OpKind::Softmax, {scores});
    NodeId y = b.op(OpKind::Matmul, {p, v, b.none(), b.none()});
    y = b.op(OpKind::Transpose, {y}, {Value::of_ints({1, 0, 2})});
    b.output(b.op(OpKind::Reshape, {y}, {Value::of_ints({seq, all})}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, Attention) {
  Random r(31);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    int64_t groups = r.in(1, 3), each = r.coin() ? 1 : r.in(2, 4),
            rows = r.coin() ? 1 : r.in(1, 40);
    int64_t places = r.in(1, 60), width = r.in(1, 40), columns = r.in(1, 40);
    auto heads = [&](const char* name, int64_t of_group, int64_t size, int64_t of_row,
                     bool turned) {
      NodeId x = b.input(name, {size, groups * of_group * of_row});
      x = b.op(OpKind::Reshape, {x}, {Value::of_ints({size, groups, of_group, of_row})});
      x = b.op(OpKind::Transpose, {x}, {Value::of_ints({1, 2, turned ? 3 : 0, turned ? 0 : 3})});
      return r.in(0, 3) ? x : b.op(OpKind::Neg, {x}); // as it is, or computed in the run
    };
    NodeId q = heads("q", each, rows, width, false), keys = heads("k", 1, places, width, true);
    NodeId values = heads("v", 1, places, columns, false), mask = b.none(), seen = b.none();
    if (r.coin()) mask = b.input("mask", r.coin() ? Shape{places} : Shape{each, rows, places});
    if (r.coin()) {
      NodeId drawn = b.input("seen", r.coin() ? Shape{rows, places} : Shape{groups, 1, 1, places});
      seen = b.op(OpKind::Less, {drawn, b.graph.constant({0.3}, f32({}))});
    }
    NodeId y = b.op(OpKind::Attention, {q, keys, values, mask, seen},
                    {Value::of_float(r.of<double>({-1e9, -2, 0.5}))});
    if (r.coin()) y = b.op(OpKind::Reshape, {y}, {Value::of_ints({groups * each, rows, columns})});
    if (b.graph.type(y).rank() == 3 && r.coin())
      y = b.op(OpKind::Transpose, {y}, {Value::of_ints({1, 0, 2})});
    b.output(maybe_view(b, r, y));
    expect_equal(b, r);
  }
}

TEST(CpuRef, Pooling) {
  Random r(4);
  for (int round = 0; round < 60; ++round) {
    Builder b;
    NodeId x = b.input("x", {r.in(1, 2), r.in(1, 40), r.in(5, 14), r.in(5, 14)});
    std::vector<Value> attrs = {pair(r.in(1, 4), r.in(1, 4)), pair(r.in(1, 3), r.in(1, 2)),
                                act(r.coin() ? "same" : "valid")};
    if (r.coin()) {
      NodeId y = b.op(OpKind::MaxPool2d, {x}, attrs);
      b.output(y);
    } else {
      attrs.push_back(Value::of_bool(r.coin()));
      b.output(b.op(OpKind::AvgPool2d, {x}, attrs));
    }
    expect_equal(b, r);
  }
}

TEST(CpuRef, PointwiseWithBroadcastingAndViews) {
  Random r(5);
  constexpr OpKind kBinary[] = {OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Maximum};
  constexpr OpKind kUnary[] = {OpKind::Neg,  OpKind::Relu, OpKind::Sigmoid, OpKind::Tanh,
                               OpKind::Gelu, OpKind::Exp,  OpKind::Erf};
  for (int round = 0; round < 200; ++round) {
    Builder b;
    Shape shape;
    for (int64_t i = r.in(1, 4); i > 0; --i) shape.push_back(r.of<int64_t>({1, 2, 3, 17, 40}));
    NodeId x = maybe_view(b, r, b.input("x", shape));
    if (shape.size() == 4 && r.coin())
      x = b.op(OpKind::MaxPool2d, {b.input("image", shape)}, {pair(1, 1), pair(1, 1)});
    for (int64_t i = r.in(1, 4); i > 0; --i) {
      Shape other = b.graph.type(x).shape;
      for (int64_t& size : other)
        if (r.in(0, 2) == 0) size = 1;
      if (r.coin())
        other.erase(other.begin(), other.begin() + r.in(0, static_cast<int64_t>(other.size())));
      std::string name = "o" + std::to_string(i);
      NodeId y = r.coin() ? b.input(name, other) : b.weight(name, other);
      if (r.in(0, 4) == 0) y = b.graph.constant({0.75}, f32(other));
      x = r.coin() ? b.op(kBinary[r.in(0, 3)], {x, y}) : b.op(kBinary[r.in(0, 3)], {y, x});
      x = b.op(kUnary[r.in(0, 6)], {x});
    }
    b.output(x);
    expect_equal(b, r);
  }
}

TEST(CpuRef, FusedMap) {
  Random r(6);
  constexpr const char* kBodies[] = {"tanh(add($0, mul($1, $2)))",
                                     "add(mul($0, $1), mul($2, $0))",
                                     "mul(sigmoid(add($0, $1)), tanh(sub($2, relu($0))))",
                                     "gelu(add(add($0, $1), $2))",
                                     "maximum(mul($0, $0), exp(neg(mul($1, $2))))",
                                     "add($2, mul(add($0, $1), sub($0, $1)))"};
  for (int round = 0; round < 100; ++round) {
    Builder b;
    Shape shape;
    for (int64_t i = r.in(1, 4); i > 0; --i) shape.push_back(r.of<int64_t>({1, 2, 3, 17, 40}));
    auto part = [&] {
      Shape other = shape;
      for (int64_t& size : other)
        if (r.in(0, 3) == 0) size = 1;
      return other;
    };
    NodeId a = b.op(OpKind::Relu, {b.input("a", shape)});
    b.output(b.op(OpKind::FusedMap, {a, b.input("b", part()), b.weight("c", part())},
                  {Value::of_string(kBodies[r.in(0, 5)])}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, RowsAndReductions) {
  Random r(7);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    Shape shape;
    for (int64_t i = r.in(1, 4); i > 0; --i) shape.push_back(r.of<int64_t>({1, 2, 5, 16, 33}));
    NodeId x = maybe_view(b, r, b.input("x", shape));
    shape = b.graph.type(x).shape;
    if (shape.size() == 4 && r.coin()) x = b.op(OpKind::MaxPool2d, {x}, {pair(1, 1), pair(1, 1)});
    auto rank = static_cast<int64_t>(shape.size());
    switch (r.in(0, 2)) {
    case 0: b.output(b.op(OpKind::Softmax, {x}, {Value::of_int(r.in(0, rank - 1))})); break;
    case 1: {
      // Not over very short rows, where the quotient of two tiny numbers is noise.
      if (shape.back() < 5) continue;
      NodeId scale = b.weight("s", {shape.back()}), bias = b.weight("b", {shape.back()});
      b.output(b.op(OpKind::LayerNorm, {x, scale, bias}));
      break;
    }
    default: {
      llvm::SmallVector<int64_t> axes;
      for (int64_t i = 0; i < rank; ++i)
        if (r.coin()) axes.push_back(i);
      if (axes.empty()) axes.push_back(0);
      OpKind kind = r.of({OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax,
                          OpKind::ReduceMin, OpKind::ReduceProd});
      x = b.op(OpKind::Sigmoid, {x}); // positive terms: a sum of both signs may cancel to noise
      b.output(b.op(kind, {x}, {Value::of_ints(axes), Value::of_bool(r.coin())}));
    }
    }
    expect_equal(b, r);
  }
}

TEST(CpuRef, PiecesAndMoves) {
  Random r(8);
  for (int round = 0; round < 200; ++round) {
    Builder b;
    Shape shape;
    for (int64_t i = r.in(1, 4); i > 0; --i) shape.push_back(r.of<int64_t>({1, 2, 3, 8, 16}));
    auto axis = r.in(0, static_cast<int64_t>(shape.size()) - 1);
    llvm::SmallVector<NodeId> pieces;
    for (int64_t i = r.in(1, 4); i > 0; --i) {
      Shape piece = shape;
      piece[static_cast<size_t>(axis)] = r.in(1, 9);
      NodeId x = b.input("x" + std::to_string(i), piece);
      if (r.coin()) x = b.op(OpKind::Sigmoid, {x});
      if (piece.size() == 4 && r.coin()) x = b.op(OpKind::MaxPool2d, {x}, {pair(1, 1), pair(1, 1)});
      pieces.push_back(x);
      if (r.in(0, 3) == 0) pieces.push_back(x); // twice
      if (r.in(0, 3) == 0) b.output(x);
    }
    NodeId y = b.op(OpKind::Concat, pieces, {Value::of_int(axis)});
    y = maybe_view(b, r, maybe_view(b, r, y));
    if (r.coin()) {
      size_t rank = b.graph.type(y).shape.size();
      llvm::SmallVector<int64_t> before, after;
      for (size_t i = 0; i < rank; ++i) {
        before.push_back(r.in(0, 2));
        after.push_back(r.in(0, 2));
      }
      y = b.op(OpKind::Pad, {y},
               {Value::of_ints(before), Value::of_ints(after), Value::of_float(0.5)});
    }
    b.output(maybe_view(b, r, y));
    expect_equal(b, r);
  }
}

TEST(CpuRef, NormsAndKernelRearrangements) {
  Random r(9);
  for (int round = 0; round < 60; ++round) {
    Builder b;
    int64_t channels = r.of<int64_t>({1, 3, 16, 40});
    NodeId x = b.input("x", {r.in(1, 2), channels, r.in(1, 9), r.in(1, 9)});
    if (r.coin()) x = b.op(OpKind::MaxPool2d, {x}, {pair(1, 1), pair(1, 1)});
    auto vector = [&](const char* name, const char* init) {
      return b.weight(name, {channels}, init);
    };
    x = b.op(OpKind::BatchNorm, {x, vector("scale", ""), vector("bias", ""), vector("mean", ""),
                                 vector("var", "uniform(0.5, 2)")});
    b.output(x);
    int64_t groups = 4, inner = r.in(1, 3);
    NodeId w = b.weight("w", {groups * r.in(1, 4), inner, 1, 3});
    NodeId merged = b.op(OpKind::MergeGconv, {w},
                         {Value::of_int(r.of<int64_t>({1, 2, 4})), Value::of_int(groups)});
    b.output(b.op(OpKind::Enlarge, {merged}, {pair(3, 5)}));
    expect_equal(b, r);
  }
}

// --- functions, comparisons, dtypes --------------------------------------------------------------

/// A random pointwise operator on numbers, whose operands stay inside its domain
/// and of moderate size.
NodeId random_pointwise(Builder& b, Random& r, NodeId x, NodeId y) {
  NodeId positive = b.op(OpKind::Add, {b.op(OpKind::Sigmoid, {x}), b.op(OpKind::Sigmoid, {y})});
  switch (r.in(0, 9)) {
  case 0: return b.op(OpKind::Minimum, {x, y});
  case 1: return b.op(OpKind::Pow, {positive, y});
  case 2: return b.op(OpKind::Select, {b.op(OpKind::Less, {x, y}), x, y});
  case 3: return b.op(OpKind::Select, {b.op(OpKind::GreaterEqual, {y, x}), y, positive});
  case 4: return b.op(OpKind::Log, {positive});
  case 5: return b.op(OpKind::Rsqrt, {positive});
  case 6: return b.op(OpKind::Mul, {b.op(OpKind::Sin, {x}), b.op(OpKind::Cos, {y})});
  case 7: return b.op(OpKind::Relu6, {b.op(OpKind::Abs, {x})});
  case 8: return b.op(OpKind::Clip, {x}, {Value::of_float(-0.5), Value::of_float(0.75)});
  default: return b.op(OpKind::Add, {b.op(OpKind::Sign, {x}), b.op(OpKind::Floor, {y})});
  }
}

TEST(CpuRef, FunctionsAndComparisons) {
  Random r(9);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    Shape shape;
    for (int64_t i = r.in(1, 4); i > 0; --i) shape.push_back(r.of<int64_t>({1, 2, 3, 17, 40}));
    Shape other = shape;
    for (int64_t& size : other)
      if (r.in(0, 3) == 0) size = 1;
    NodeId x = maybe_view(b, r, b.input("x", shape)), y = b.input("y", shape);
    if (b.graph.type(x).shape == shape)
      y = b.input("z", other);
    else
      x = b.input("w", other);
    b.output(random_pointwise(b, r, x, y));
    NodeId less = b.op(OpKind::Less, {x, y}), above = b.op(OpKind::Greater, {x, y});
    b.output(b.op(r.coin() ? OpKind::LogicalAnd : OpKind::LogicalOr,
                  {b.op(OpKind::LogicalNot, {less}), above}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, FusedBodiesWithComparisons) {
  Random r(10);
  constexpr const char* kBodies[] = {"select(less($0, $1), $2, mul($0, $1))",
                                     "relu6(add($0, select(greater($1, $2), $1, $2)))",
                                     "minimum(abs($0), add(sin($1), cos($2)))",
                                     "select(logical_not(equal($0, $1)), rsqrt(exp($2)), $0)"};
  for (int round = 0; round < 60; ++round) {
    Builder b;
    Shape shape = {r.in(1, 3), r.of<int64_t>({1, 17}), r.of<int64_t>({1, 5, 40})};
    Shape row = {shape.back()};
    b.output(b.op(OpKind::FusedMap, {b.input("a", shape), b.input("b", row), b.weight("c", shape)},
                  {Value::of_string(kBodies[r.in(0, 3)])}));
    expect_equal(b, r);
  }
}

NodeId cast_to(Builder& b, NodeId x, const char* dtype) {
  return b.op(OpKind::Cast, {x}, {Value::of_enum(dtype)});
}

/// A tensor of this dtype whose values are small integers, which every dtype represents exactly.
NodeId small(Builder& b, const char* name, Shape shape, const char* dtype) {
  NodeId x = b.op(OpKind::Mul, {b.input(name, std::move(shape)), b.graph.constant({5}, f32({}))});
  return cast_to(b, b.op(OpKind::Floor, {x}), dtype);
}

TEST(CpuRef, EveryDtypeMovesAddsAndMultiplies) {
  Random r(11);
  for (int round = 0; round < 120; ++round) {
    Builder b;
    const char* dtype = r.of({"f16", "bf16", "i32", "i64", "f32"});
    int64_t m = r.in(1, 5), k = r.in(1, 6), n = r.in(1, 9);
    NodeId x = small(b, "x", {m, k}, dtype), y = small(b, "y", {k, n}, dtype);
    NodeId product = b.op(OpKind::Matmul, {x, y, b.none(), b.none()});
    b.output(b.op(OpKind::Transpose, {product}, {Value::of_ints({1, 0})}));
    NodeId both = b.op(OpKind::Concat, {x, b.op(OpKind::Neg, {x})}, {Value::of_int(0)});
    b.output(maybe_view(b, r, both));
    b.output(b.op(OpKind::Equal, {both, b.op(OpKind::Abs, {both})}));
    b.output(b.op(OpKind::Cumsum, {y}, {Value::of_int(r.in(0, 1))}));
    b.output(
        b.op(OpKind::Argmax, {product}, {Value::of_int(r.in(0, 1)), Value::of_bool(r.coin())}));
    expect_equal(b, r);
  }
}

TEST(CpuRef, GathersRowsAndMarksIndicesOutside) {
  Random r(12);
  for (int round = 0; round < 80; ++round) {
    Builder b;
    Shape shape = {r.in(1, 5), r.in(1, 6), r.in(1, 7)};
    auto axis = r.in(0, 2);
    const char* dtype = r.of({"f32", "i32", "bf16"});
    NodeId table = small(b, "table", shape, dtype);
    if (r.coin()) table = b.op(OpKind::Transpose, {table}, {Value::of_ints({2, 0, 1})});
    int64_t size = b.graph.type(table).shape[static_cast<size_t>(axis)];
    // In range: a NaN from a gather would compare as different.
    NodeId at = b.op(OpKind::Mul, {b.op(OpKind::Sigmoid, {b.input("at", {r.in(1, 4), 3})}),
                                   b.graph.constant({static_cast<double>(size)}, f32({}))});
    b.output(
        b.op(OpKind::Gather, {table, cast_to(b, at, r.of({"i32", "i64"}))}, {Value::of_int(axis)}));
    expect_equal(b, r);
  }
}

NodeId indices_below(Builder& b, Random& r, int64_t count, int64_t size) {
  NodeId at = b.op(OpKind::Mul, {b.input("at", {count}),
                                 b.graph.constant({static_cast<double>(size + 1)}, f32({}))});
  return cast_to(b, at, r.of({"i32", "i64"})); // some are out of range
}

/// Resizes the last axes to other sizes, in a random mode that the dtype supports.
NodeId resized(Builder& b, Random& r, NodeId x) {
  TensorType type = b.graph.type(x);
  Shape sizes;
  for (int64_t count = r.in(1, type.rank()); count > 0; --count)
    sizes.push_back(r.in(0, 4) == 0 ? type.shape[type.shape.size() - static_cast<size_t>(count)]
                                    : r.in(1, 30));
  bool weighs = type.dtype == DType::F32 && r.in(0, 3) > 0; // half types round differently
  return b.op(
      OpKind::Resize, {x},
      {Value::of_ints(sizes), Value::of_string(weighs ? r.of({"linear", "cubic"}) : "nearest"),
       Value::of_string(r.of({"half_pixel", "align_corners", "asymmetric"})), Value::of_floats({}),
       Value::of_string(r.of({"floor", "round_prefer_ceil"})), Value::of_float(-0.75),
       Value::of_bool(weighs && r.coin()), Value::of_bool(r.coin())});
}

TEST(CpuRef, ResizesOfEveryRankLayoutAndDtype) {
  Random r(50);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    Shape shape;
    for (int64_t rank = r.in(1, 5); rank > 0; --rank) shape.push_back(r.in(1, 9));
    const char* dtype = r.of({"f32", "f32", "f32", "bf16", "f16", "i32", "i64"});
    NodeId x = small(b, "x", shape, dtype);
    if (r.coin()) x = maybe_view(b, r, x);
    if (b.graph.type(x).rank() == 4 && b.graph.type(x).dtype == DType::F32 &&
        r.coin()) // in the pool's layout
      x = b.op(OpKind::MaxPool2d, {x}, {pair(1, 1), pair(1, 1), act("valid")});
    b.output(cast_to(b, resized(b, r, x), "f32"));
    expect_equal(b, r);
  }
}

TEST(CpuRef, ScatterWritesAndJoinsInOrder) {
  Random r(23);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    Shape shape = {r.in(1, 5), r.in(1, 6), r.in(1, 7)};
    auto axis = static_cast<size_t>(r.in(0, 2));
    const char* dtype = r.of({"f32", "f32", "i32", "i64", "bf16", "f16"});
    NodeId x = small(b, "x", shape, dtype);
    if (r.coin()) x = b.op(OpKind::Neg, {x}); // its memory may be overwritten
    int64_t count = r.in(1, 9), size = shape[axis];
    shape[axis] = count;
    NodeId updates = small(b, "updates", shape, dtype);
    NodeId y = b.op(OpKind::Scatter, {x, indices_below(b, r, count, size), updates},
                    {Value::of_int(static_cast<int64_t>(axis)),
                     Value::of_string(r.of({"none", "add", "mul", "max", "min"}))});
    b.output(cast_to(b, y, "f32"));
    if (r.in(0, 3) == 0) b.output(x); // it stays live
    expect_equal(b, r);
  }
}

TEST(CpuRef, BroadcastsAreReadByEveryKindOfOperator) {
  Random r(24);
  for (int round = 0; round < 150; ++round) {
    Builder b;
    Shape wide = {r.of<int64_t>({1, 2, 3}), 4, r.of<int64_t>({1, 8}), 8}, narrow = wide;
    for (int64_t& size : narrow)
      if (r.coin()) size = 1;
    NodeId x = b.input("x", narrow);
    if (r.coin()) x = b.op(OpKind::Relu, {x});
    NodeId y = b.op(OpKind::Broadcast, {x}, {Value::of_ints(wide)});
    switch (r.in(0, 7)) {
    case 0: y = b.op(OpKind::Softmax, {y}, {Value::of_int(r.in(0, 3))}); break;
    case 1: y = b.op(OpKind::ReduceSum, {y}, {Value::of_ints({r.in(0, 1), r.in(2, 3)})}); break;
    case 2: {
      NodeId z = b.input("z", {wide[0], 4, 8, wide[2]});
      y = b.op(OpKind::Matmul, {y, z, b.none(), b.none()});
      break;
    }
    case 3: y = b.op(OpKind::Conv2d, {y, b.weight("w", {5, 4, 1, 3}), b.none(), b.none()}); break;
    case 4: y = b.op(OpKind::Concat, {y, b.input("z", wide)}, {Value::of_int(r.in(0, 3))}); break;
    case 5: y = b.op(OpKind::Reshape, {y}, {Value::of_ints({wide[0] * 4, -1})}); break;
    case 6: y = b.op(OpKind::MaxPool2d, {y}, {pair(1, 2), pair(1, 1)}); break;
    default: y = b.op(OpKind::Add, {y, b.input("z", wide)});
    }
    b.output(y);
    expect_equal(b, r);
  }
}

TEST(CpuRef, OrdersAndBoxes) {
  Random r(25);
  for (int round = 0; round < 60; ++round) {
    Builder b;
    Shape shape = {r.in(1, 4), r.in(1, 9), r.in(1, 4)};
    auto axis = static_cast<size_t>(r.in(0, 2));
    NodeId x = small(b, "x", shape, r.of({"f32", "i32", "i64", "bf16"})); // with equal elements
    b.output(b.op(OpKind::TopK, {x},
                  {Value::of_int(static_cast<int64_t>(axis)), Value::of_int(r.in(1, shape[axis])),
                   Value::of_bool(r.coin())}));
    int64_t count = r.in(1, 20);
    b.output(b.op(OpKind::NonMaxSuppression,
                  {b.input("boxes", {2, count, 4}), b.input("scores", {2, 3, count})},
                  {Value::of_int(r.in(1, 6)), Value::of_float(0.2), Value::of_float(-0.5),
                   Value::of_bool(r.coin())}));
    expect_equal(b, r);
  }
}

} // namespace
} // namespace tg::test
