// Tests gradients of every operator, and gradients of these gradients, against central differences
// in float64. Each case is an expression. The loss is the sum of its elements,
// each multiplied by a different number.
#include "compiler/ir/evaluate.h"
#include "compiler/ir/grad/gradient.h"
#include "compiler/ir/grad/rules.h"
#include "tests/unit/ir/ir_test.h"

#include <cmath>
#include <set>

namespace tg {
namespace {

struct Case {
  const char* inputs; // inputs whose names begin with p are positive
  const char* value;
};

constexpr Case kCases[] = {
    // elementwise, with operands used repeatedly
    {"x: f64[2, 3], y: f64[3]", "add(x, y)"},
    {"x: f64[2, 1, 3], y: f64[4, 1]", "sub(x, y)"},
    {"x: f64[2, 3], y: f64[]", "mul(x, y)"},
    {"x: f64[3], p: f64[2, 3]", "div(x, p + 0.5)"},
    {"x: f64[2, 3], y: f64[3]", "maximum(x, y)"},
    {"x: f64[2, 3], y: f64[2, 1]", "minimum(x, y)"},
    {"p: f64[2, 3], y: f64[3]", "pow(p + 0.1, y)"},
    {"x: f64[2, 3]", "pow(x, 3.0)"},
    {"x: f64[2, 3], p: f64[3]", "mod(5 * x, p + 0.3)"},
    {"x: f64[2, 3], y: f64[3], z: f64[2, 1]", "select(less(x, y), y * y, z)"},
    {"x: f64[2, 3]", "identity(x) * x"},
    {"x: f64[5]", "neg(x)"},
    {"x: f64[2, 7]", "relu(x)"},
    {"x: f64[7]", "sigmoid(3 * x)"},
    {"x: f64[7]", "tanh(2 * x)"},
    {"x: f64[7]", "gelu(2 * x)"},
    {"x: f64[7]", "exp(x)"},
    {"p: f64[7]", "sqrt(p)"},
    {"x: f64[7]", "erf(x)"},
    {"x: f64[17]", "relu6(9 * x)"},
    {"x: f64[7]", "abs(x)"},
    {"p: f64[7]", "log(p)"},
    {"x: f64[7]", "sin(2 * x)"},
    {"x: f64[7]", "cos(2 * x)"},
    {"p: f64[7]", "rsqrt(p + 0.1)"},
    {"x: f64[7]", "atan(2 * x)"},
    {"x: f64[7]", "log1p(0.9 * x)"},
    {"x: f64[7]", "expm1(x)"},
    {"x: f64[17]", "hardswish(5 * x)"},
    {"x: f64[7]", "softplus(3 * x)"},
    {"x: f64[7]", "mish(3 * x)"},
    {"x: f64[7]", "tan(x)"},
    {"x: f64[7]", "asin(0.9 * x)"},
    {"x: f64[7]", "acos(0.9 * x)"},
    {"x: f64[7]", "sinh(x)"},
    {"x: f64[7]", "cosh(x)"},
    {"x: f64[7]", "asinh(3 * x)"},
    {"p: f64[7]", "acosh(1.2 + p)"},
    {"x: f64[7]", "atanh(0.9 * x)"},
    {"x: f64[17]", "clip(x, -0.4, 0.6)"},
    {"x: f64[17]", "elu(x, alpha = 0.7)"},
    {"x: f64[17]", "leaky_relu(x, alpha = 0.2)"},
    {"x: f64[3], y: f64[2, 3]", R"tg(fused_map([x, y], body = "tanh(add($0, mul($1, $1)))"))tg"},
    {"x: f64[3]", "cast(x, f64) * x"},
    {"x: f64[3]", "cast(exp(x), f32)"},

    // products
    {"x: f64[3, 4], y: f64[4, 2]", "matmul(x, y)"},
    {"x: f64[2, 3, 4], y: f64[4, 2]", "matmul(x, y)"},
    {"x: f64[3, 4], y: f64[2, 4, 2]", "matmul(x, y)"},
    {"x: f64[2, 1, 3, 4], y: f64[3, 4, 2]", "matmul(x, y)"},
    {"x: f64[2, 3, 4], y: f64[4, 2], z: f64[2], r: f64[2, 3, 2]", "matmul(x, y, z, r, act = tanh)"},
    {"q: f64[2, 3, 4], k: f64[2, 4, 5], v: f64[2, 5, 3]", "attention(q, k, v)"},
    {"q: f64[2, 3, 4], k: f64[4, 5], v: f64[2, 5, 3], m: f64[3, 5], c: f64[5]",
     "attention(q, k, v, m, c < 0.5)"},

    // convolutions
    {"x: f64[2, 3, 5, 4], w: f64[2, 3, 3, 2]", "conv2d(x, w)"},
    {"x: f64[2, 3, 5, 4], w: f64[2, 3, 3, 3]", "conv2d(x, w, pad = same)"},
    {"x: f64[2, 2, 8, 7], w: f64[2, 2, 3, 3]", "conv2d(x, w, stride = 2, pad = same)"},
    {"x: f64[1, 2, 8, 7], w: f64[3, 2, 3, 2]", "conv2d(x, w, stride = [3, 2], pad = [1, 0, 2, 1])"},
    {"x: f64[1, 2, 7, 8], w: f64[2, 2, 3, 2]", "conv2d(x, w, dilation = [2, 3], pad = 1)"},
    {"x: f64[2, 4, 5, 5], w: f64[6, 2, 3, 3]", "conv2d(x, w, stride = 2, pad = 1)"},
    {"x: f64[2, 3, 5, 5], w: f64[3, 1, 3, 3], b: f64[3], r: f64[2, 3, 5, 5]",
     "conv2d(x, w, b, r, pad = 1, act = sigmoid)"},
    {"x: f64[1, 2, 7, 7], w: f64[2, 2, 1, 1]", "conv2d(x, w, stride = 3)"},
    {"x: f64[2, 2, 3, 4], w: f64[2, 3, 3, 2]", "conv_transpose2d(x, w)"},
    {"x: f64[1, 4, 3, 4], w: f64[4, 3, 3, 3], b: f64[6]",
     "conv_transpose2d(x, w, b, stride = 2, pad = 1, output_padding = 1, groups = 2)"},
    {"x: f64[1, 2, 3, 4], w: f64[2, 1, 3, 3]",
     "conv_transpose2d(x, w, stride = [2, 1], pad = same, dilation = [1, 2])"},
    {"x: f64[1, 2, 3, 3], w: f64[2, 1, 2, 2]",
     "conv_transpose2d(x, w, stride = 3, output_padding = 2)"},
    {"x: f64[1, 2, 4, 3, 4], w: f64[2, 2, 3, 2, 2], b: f64[2]", "conv3d(x, w, b)"},
    {"x: f64[1, 4, 5, 4, 4], w: f64[2, 2, 3, 2, 1]",
     "conv3d(x, w, stride = [2, 1, 2], pad = [1, 0, 0, 2, 1, 0], dilation = [1, 2, 1])"},

    // pooling
    {"x: f64[2, 2, 5, 6]", "max_pool2d(x, kernel = 2, stride = 2)"},
    {"x: f64[1, 2, 6, 5]", "max_pool2d(x, kernel = 3, stride = 2, pad = 1)"},
    {"x: f64[1, 2, 6, 5]", "max_pool2d(x, kernel = [3, 2], pad = same)"},
    {"x: f64[2, 2, 5, 6]", "avg_pool2d(x, kernel = 2, stride = 2)"},
    {"x: f64[1, 2, 6, 5]", "avg_pool2d(x, kernel = 3, stride = 2, pad = 1)"},
    {"x: f64[1, 2, 6, 5]", "avg_pool2d(x, kernel = [3, 2], pad = same)"},
    {"x: f64[1, 2, 6, 5]", "avg_pool2d(x, kernel = 3, stride = 2, pad = 1, count_padding = true)"},

    // resampling
    {"x: f64[2, 3, 4]", R"tg(resize(x, [5, 3], "linear"))tg"},
    {"x: f64[1, 2, 5, 4]", R"tg(resize(x, [3, 7], "cubic", coordinates = "align_corners"))tg"},
    {"x: f64[2, 7, 9]",
     R"tg(resize(x, [3, 4], "cubic", antialias = true, exclude_outside = true))tg"},
    {"x: f64[2, 3, 4]", R"tg(resize(x, [2, 6, 5], "nearest", rounding = "floor"))tg"},

    // normalisation and reductions
    {"x: f64[2, 3, 4]", "softmax(x, axis = 1)"},
    {"x: f64[2, 3, 2, 2], s: f64[3], b: f64[3], m: f64[3], p: f64[3]", "batch_norm(x, s, b, m, p)"},
    {"x: f64[2, 3, 4], s: f64[4], b: f64[4]", "layer_norm(x, s, b, eps = 0.01)"},
    {"x: f64[2, 3, 4]", "reduce_sum(x * x, axes = [0, 2])"},
    {"x: f64[2, 3, 4]", "reduce_mean(x * x, axes = [1], keepdims = true)"},
    {"x: f64[2, 3, 4]", "reduce_max(x, axes = [0, 2])"},
    {"x: f64[2, 3, 4]", "reduce_min(x, axes = [1], keepdims = true)"},
    {"x: f64[2, 3, 4]", "reduce_prod(x, axes = [0, 2])"},
    {"x: f64[2, 3]", "reduce_prod(x * full([3], 0.0) + concat([x[:, 0:2], full([2, 1], 0.0)], axis "
                     "= 1), axes = [1])"},
    {"x: f64[2, 3, 4]", "cumsum(x * x, axis = 1)"},

    // moves
    {"x: f64[2, 3], y: f64[2, 1]", "concat([x * x, y, x], axis = 1)"},
    {"x: f64[2, 5]", "slice(x * x, axis = 1, start = 1, stop = 4)"},
    {"x: f64[2, 7, 2]", "windows(x * x, axis = 1, size = 3)"},
    {"x: f64[9]", "windows(x * x, axis = 0, size = 3, step = 2, dilation = 2)"},
    {"x: f64[2, 7]", "windows(x * x, axis = 1, size = 2, step = 3)"},
    {"x: f64[2, 6]", "reshape(x * x, shape = [3, 4])"},
    {"x: f64[2, 3, 4]", "transpose(x * x, perm = [2, 0, 1])"},
    {"x: f64[2, 3]", "pad(x * x, before = [1, 0], after = [0, 2], value = 3.0)"},
    {"w: f64[2, 1, 1, 3]", "enlarge(w * w, kernel = [3, 5])"},
    {"w: f64[8, 2, 1, 2]", "merge_gconv(w * w, count = 2, groups = 4)"},
    {"x: f64[3, 4]", "gather(x * x, tensor([[2, 0], [2, 3]], i64), axis = 1)"},
    {"x: f64[4, 2]", "gather(x * x, tensor([1, 1, 3], i32), axis = 0)"},
    {"x: f64[1, 3]", "broadcast(x * x, shape = [2, 4, 3])"},
    {"x: f64[2, 4], u: f64[2, 4]", "scatter(x * x, tensor([2, 0, 2, 9], i64), u * u, axis = 1)"},
    {"x: f64[4, 2], u: f64[3, 2]",
     R"tg(scatter(x * x, tensor([2, 2, -1], i64), u * u, axis = 0, reduce = "add"))tg"},
    {"x: f64[4, 2], u: f64[4, 2]",
     R"tg(scatter(x * x, tensor([2, 2, -1, 0], i64), u + 2, axis = 0, reduce = "mul"))tg"},
    {"x: f64[2, 4], u: f64[2, 5]",
     R"tg(scatter(2 * x, tensor([2, 0, 2, 9, 2], i64), u * u, axis = 1, reduce = "max"))tg"},
    {"x: f64[2, 4], u: f64[2, 5]",
     R"tg(scatter(2 * x, tensor([2, 0, 2, 9, 2], i64), u * u, axis = 1, reduce = "min"))tg"},
    // the first update of two is 0; in another pair, both are
    {"x: f64[3], u: f64[4]", R"tg(scatter(x + 3, tensor([0, 0, 2, 2], i64),
                                          u * tensor([0, 1, 0, 0], f64), reduce = "mul"))tg"},

    // several partial gradients of one operand (sums.cpp): adjacent, overlapping and separated
    // pieces; products of few rows
    {"x: f64[3, 2, 4], w: f64[4, 4]", "tanh(tanh(x[0] @ w + x[1]) @ w + x[2])"},
    {"x: f64[2, 6]", "x[:, 0:2] * x[:, 2:4] + x[:, 4:6] * x[:, 1:3] + x[:, 0:2]"},
    {"x: f64[4, 4]", "x[0:2, 1:3] * x[2:4, 1:3] + x[0:2, 3:4]"},
    {"x: f64[5, 3]", "x[0:2] * x[3:5] * reduce_sum(x, axes = [0], keepdims = true)"},

    // operators without a gradient, beside others with one
    {"x: f64[2, 7]", "x * floor(3 * x) + sign(x) + round(2 * x) * ceil(x)"},
    {"x: f64[2, 7]", "x * cast(argmax(x, axis = 1, keepdims = true), f64)"},
};

/// Returns the sum of the elements, each multiplied by a different number.
NodeId weighted_sum(NodeBuilder& b, NodeId x, uint64_t seed) {
  std::vector<double> factors;
  for (int64_t i = 0; i < b.type(x).elements(); ++i)
    factors.push_back(std::sin(static_cast<double>(seed) + 1.7 * static_cast<double>(i)));
  NodeId products = b.mul(x, b.graph().constant(factors, b.type(x)));
  Shape axes;
  for (int64_t axis = 0; axis < b.rank(x); ++axis) axes.push_back(axis);
  return axes.empty() ? products : b.reduce(OpKind::ReduceSum, products, axes, false);
}

double value_of(const Graph& graph, NodeId node, const LeafSource& leaves) {
  auto values = evaluate(graph, leaves, {node});
  EXPECT_TRUE(values.ok());
  return (*values)[0][0];
}

/// Returns the gradients of the loss for all inputs, each checked against differences of the loss.
std::vector<NodeId> expect_gradients(Graph& graph, NodeId loss, const LeafSource& leaves) {
  NoGradient why;
  std::vector<NodeId> inputs(graph.inputs());
  auto made = gradients(graph, loss, inputs, {}, why);
  EXPECT_TRUE(made) << why.why;
  if (!made) return {};
  EXPECT_EQ(verify(graph), "");
  auto values = evaluate(graph, leaves, *made);
  EXPECT_TRUE(values.ok());
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(graph.type((*made)[i]).text(), graph.type(inputs[i]).text());
    for (size_t element = 0; element < (*values)[i].size(); ++element) {
      auto moved = [&](double by) {
        return value_of(graph, loss, [&](const Graph& g, NodeId leaf) {
          NodeValues at = leaves(g, leaf);
          if (leaf == inputs[i]) at[element] += by;
          return at;
        });
      };
      double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR((*values)[i][element], slope, 1e-6 * std::max(1.0, std::abs(slope)))
          << "by element " << element << " of " << graph.attr(inputs[i], 0).text;
    }
  }
  return *made;
}

class Gradients : public ::testing::TestWithParam<Case> {};

TEST_P(Gradients, AreSlopesAndHaveGradients) {
  test::Built built("model m(" + std::string(GetParam().inputs) + ") { " + GetParam().value + " }");
  ASSERT_TRUE(built.graph) << built.rendered();
  SCOPED_TRACE(GetParam().value);
  Graph& graph = *built.graph;
  NodeBuilder b(graph);
  LeafSource leaves = random_leaves(3, [](llvm::StringRef name) { return name.startswith("p"); });
  NodeId loss = weighted_sum(b, b.cast(graph.outputs()[0].node, DType::F64), 1);
  std::vector<NodeId> first = expect_gradients(graph, loss, leaves);
  ASSERT_FALSE(first.empty());
  NodeId sum = b.scalar(0, DType::F64);
  for (size_t i = 0; i < first.size(); ++i) sum = b.add(sum, weighted_sum(b, first[i], 2 + i));
  expect_gradients(graph, sum, leaves);
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradients, ::testing::ValuesIn(kCases));

TEST(GradientRules, HaveACaseEach) {
  std::set<OpKind> seen;
  for (const Case& one : kCases) {
    test::Built built("model m(" + std::string(one.inputs) + ") { " + one.value + " }");
    ASSERT_TRUE(built.graph) << one.value << "\n" << built.rendered();
    for (uint32_t i = 0; i < built.graph->size(); ++i) seen.insert(built.graph->node({i}).op);
  }
  for (const OpInfo& op : all_ops()) {
    bool refused = op.kind == OpKind::Extern || op.kind == OpKind::WinogradConv2d ||
                   op.kind == OpKind::WinogradWeight;
    EXPECT_TRUE(!grad::rule_of(op.kind) || refused || seen.count(op.kind)) << std::string(op.name);
  }
}

} // namespace
} // namespace tg
