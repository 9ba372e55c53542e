// Tests oneDNN's steps in slices on several threads against one thread and the definition.
#include "tests/unit/cpu/compare.h"

namespace tg::test {
namespace {

void expect_same(const Graph& graph, const std::string& what) {
  for (Products products : {Products::Library, Products::Chosen})
    for (int threads : {2, 3, 5}) {
      Comparison c = compare(graph, threads, IoLayout::Plain, products);
      EXPECT_LE(c.difference, 2e-5) << what << ", " << threads << " threads\n"
                                    << implementations(c);
    }
}

struct Windows {
  Shape x, w;
  int64_t stride, pad, dilation;
};

/// Images and rows that divide evenly among threads or do not, fewer than threads,
/// windows that reach beyond both ends of a slice, one row, groups, and sizes from which Winograd's
/// algorithm is used.
const Windows kWindows[] = {
    {{1, 3, 17, 9}, {8, 3, 3, 3}, 1, 1, 1},     {{1, 16, 5, 40}, {16, 16, 5, 5}, 1, 2, 1},
    {{1, 32, 28, 28}, {32, 32, 3, 3}, 1, 1, 1}, {{1, 32, 15, 31}, {48, 32, 3, 3}, 1, 1, 1},
    {{2, 32, 14, 14}, {32, 32, 3, 3}, 1, 1, 1}, {{1, 16, 23, 11}, {16, 16, 3, 3}, 2, 1, 1},
    {{1, 16, 19, 19}, {16, 16, 3, 3}, 1, 3, 3}, {{1, 32, 12, 12}, {32, 1, 3, 3}, 1, 1, 1},
    {{3, 16, 7, 7}, {32, 16, 1, 1}, 1, 0, 1},   {{1, 16, 1, 50}, {16, 16, 1, 7}, 1, 0, 1},
    {{1, 64, 7, 7}, {64, 64, 3, 3}, 1, 1, 1},   {{1, 16, 9, 9}, {16, 8, 4, 4}, 3, 2, 1},
};

TEST(Slices, KeepResultsOfConvolutions) {
  for (const Windows& c : kWindows)
    for (int form : {0, 1, 2}) { // alone, with bias and activation, weight at load
      Builder b;
      bool fused = form == 1;
      NodeId x = form == 2 ? b.weight("x", c.x) : b.input("x", c.x);
      NodeId w = b.weight("w", c.w), bias = b.none(), residual = b.none();
      auto attrs = [&](const char* name) {
        return std::vector<Value>{pair(c.stride, c.stride), Value::of_int(c.pad),
                                  pair(c.dilation, c.dilation), act(name)};
      };
      if (fused) {
        NodeId plain = b.op(OpKind::Conv2d, {x, w, b.none(), b.none()}, attrs("none"));
        bias = b.weight("bias", {c.w[0]}), residual = b.op(OpKind::Tanh, {plain});
      }
      b.output(b.op(OpKind::Conv2d, {x, w, bias, residual}, attrs(fused ? "relu" : "none")));
      expect_same(b.graph, f32(c.x).text() + " by " + f32(c.w).text());
    }
}

TEST(Slices, KeepResultsOfMeans) {
  for (const Windows& c : kWindows)
    for (bool count_padding : {false, true}) {
      if (c.dilation != 1 || c.pad >= c.w[2] || c.pad >= c.w[3]) continue;
      Builder b;
      b.output(b.op(OpKind::AvgPool2d, {b.input("x", c.x)},
                    {pair(c.w[2], c.w[3]), pair(c.stride, c.stride), Value::of_int(c.pad),
                     Value::of_bool(count_padding)}));
      expect_same(b.graph, f32(c.x).text());
    }
}

TEST(Slices, KeepResultsOfProducts) {
  struct Product {
    Shape x, y;
  };
  for (const Product& c :
       {Product{{1, 64}, {64, 32}}, Product{{33, 64}, {64, 48}}, Product{{2, 3, 17, 24}, {24, 40}},
        Product{{3, 20, 16}, {3, 16, 28}}, Product{{1, 12, 16, 16}, {1, 12, 16, 16}},
        Product{{1, 70, 8}, {1, 8, 9}}, Product{{5, 1, 9, 8}, {1, 4, 8, 16}},
        Product{{64, 1, 8}, {64, 8, 1}}})
    for (int weight : {0, 1, 2}) // neither operand is a weight, the matrix is, or both are
      for (bool fused : {false, true}) {
        Builder b;
        NodeId x = weight == 2 ? b.weight("x", c.x) : b.input("x", c.x),
               y = weight ? b.weight("y", c.y) : b.input("y", c.y);
        NodeId bias = fused ? b.weight("bias", {c.y.back()}) : b.none();
        b.output(b.op(OpKind::Matmul, {x, y, bias, b.none()}, {act(fused ? "relu" : "none")}));
        expect_same(b.graph, f32(c.x).text() + " @ " + f32(c.y).text());
      }
}

TEST(Slices, KeepResultsOfTransposedOperands) {
  Builder b; // attention heads: batch and rows exchanged
  auto heads = [&](llvm::StringRef name) {
    NodeId x =
        b.op(OpKind::Reshape, {b.input(name, {1, 24, 64})}, {Value::of_ints({1, 24, 4, 16})});
    return b.op(OpKind::Transpose, {x}, {Value::of_ints({0, 2, 1, 3})});
  };
  NodeId y = b.op(OpKind::Transpose, {heads("k")}, {Value::of_ints({0, 1, 3, 2})});
  NodeId scores = b.op(OpKind::Matmul, {heads("q"), y, b.none(), b.none()});
  NodeId mixed = b.op(OpKind::Matmul, {scores, heads("v"), b.none(), b.none()});
  NodeId back = b.op(OpKind::Transpose, {mixed}, {Value::of_ints({0, 2, 1, 3})});
  b.output(b.op(OpKind::Tanh, {back}));
  for (Shape shape : {Shape{2, 3, 40}, Shape{3, 500, 2}, Shape{7, 5, 3, 4}})
    for (Shape perm : {Shape{2, 0, 1}, Shape{1, 2, 0}, Shape{3, 1, 0, 2}, Shape{2, 3, 0, 1}})
      if (perm.size() == shape.size())
        b.output(b.op(OpKind::Transpose,
                      {b.input("x" + std::to_string(b.graph.inputs().size()), shape)},
                      {Value::of_ints(perm)}));
  expect_same(b.graph, dump(b.graph));
}

/// A NaN that a fused activation loses is recovered on any thread, also if a later maximum reads
/// the same flag.
TEST(Slices, KeepNaN) {
  for (int threads : {1, 2, 3})
    for (bool pooled : {false, true}) {
      Builder b;
      NodeId x = b.input("x", {1, 16, 30, 30}), w = b.weight("w", {16, 16, 3, 3});
      NodeId y = b.op(OpKind::Conv2d, {x, w, b.none(), b.none()},
                      {pair(1, 1), Value::of_int(1), pair(1, 1), act("relu")});
      if (pooled) y = b.op(OpKind::MaxPool2d, {y}, {pair(2, 2), pair(2, 2)});
      b.output(y);
      Plan plan = plan_from_graph(b.graph);
      CompileOptions options;
      options.threads = threads;
      options.share_short_work = true;
      auto executable = make_cpu_backend(Products::Library)->compile(plan, options);
      ASSERT_TRUE(executable.ok());
      auto inputs = random_inputs(plan, 7);
      for (int64_t at : {0, 450, 16 * 900 - 1}) {
        Tensor poisoned = (*inputs)[0];
        poisoned.floats()[static_cast<size_t>(at)] = std::nanf("");
        auto run = (*executable)->run({poisoned});
        ASSERT_TRUE(run.ok());
        bool found = llvm::any_of((*run)[0].floats(), [](float y) { return std::isnan(y); });
        EXPECT_TRUE(found) << threads << " threads, " << (pooled ? "pooled, " : "") << at;
      }
    }
}

} // namespace
} // namespace tg::test
