// Numbers that are none, infinite, tiny or huge through every operator that takes floats, on `cpu`
// against `ref`: NaN where `ref` has NaN, the same infinities, and elsewhere the same numbers.
// ctest runs this once more for each instruction set that oneDNN can be held to (DNNL_MAX_CPU_ISA).
#include "compiler/ir/retype.h"
#include "tests/unit/onednn/compare.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tg::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kSpecial[] = {kNaN,  -kNaN,  kInf,   -kInf, -0.0f,   1e-42f, -1e-42f,
                              1e38f, -1e38f, 3e-38f, 88.8f, -104.0f, -1.0f,  0.5f};
const char* const kActs[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};

/// Ordinary numbers, and a special one at some places.
Tensor with_special(const TensorType& type, float special, size_t places) {
  Tensor tensor = *Tensor::zeros(type);
  auto values = reinterpret_cast<float*>(tensor.data());
  auto count = static_cast<size_t>(type.elements());
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37) % 41) / 16 - 1.1f;
  for (size_t k = 0; k < places; ++k) values[(k * 7919 + 3) % count] = special;
  return tensor;
}

/// "" where they agree, numbers within `slack` of the largest.
std::string disagreement(const Tensor& got, const Tensor& want, bool may_spread, double slack) {
  if (want.type().dtype != DType::F32) return "";
  auto g = reinterpret_cast<const float*>(got.data()),
       w = reinterpret_cast<const float*>(want.data());
  double scale = 1e-30;
  for (int64_t i = 0; i < want.type().elements(); ++i)
    if (std::isfinite(w[i])) scale = std::max(scale, std::abs(static_cast<double>(w[i])));
  for (int64_t i = 0; i < want.type().elements(); ++i) {
    bool same = std::isnan(w[i])   ? std::isnan(g[i])
                : std::isinf(w[i]) ? g[i] == w[i] || (may_spread && !std::isfinite(g[i]))
                                   : std::abs(static_cast<double>(g[i]) - w[i]) <= slack * scale ||
                                         (may_spread && !std::isfinite(g[i]));
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(g[i]) + ", not " +
             std::to_string(w[i]);
  }
  return "";
}

/// Runs a graph with each special value in each of its inputs, at one place and at all of them.
/// Sums of products that overflow on the way are no matter of this test: without `huge` such are
/// left out. `definition` says the same in other words, for `ref`.
void check(const Graph& graph, bool huge, bool may_spread = false,
           const Graph* definition = nullptr) {
  Plan plan = plan_from_graph(graph), defined = plan_from_graph(definition ? *definition : graph);
  bool halves = llvm::any_of(
      plan.values, [](const PlanValue& value) { return value.type.dtype == DType::BF16; });
  double slack = halves ? 0x1p-7 : 1e-4;
  auto ref = make_ref_backend(), cpu = make_cpu_backend();
  for (int threads : {1, 2}) {
    CompileOptions options;
    options.threads = threads;
    auto want_by = ref->compile(defined, options), got_by = cpu->compile(plan, options);
    ASSERT_TRUE(want_by && got_by) << dump(graph);
    for (size_t special_input = 0; special_input < plan.inputs.size(); ++special_input)
      for (float special : kSpecial)
        for (bool everywhere : {false, true}) {
          if (!huge && std::isfinite(special) && std::abs(special) > 1e30f) continue;
          std::vector<Tensor> inputs;
          for (size_t i = 0; i < plan.inputs.size(); ++i) {
            const TensorType& type = plan.values[plan.inputs[i]].type;
            size_t all = everywhere ? static_cast<size_t>(type.elements()) * 8000 : 1;
            inputs.push_back(
                with_special(type, special, i == special_input ? std::min<size_t>(all, 4000) : 0));
          }
          std::vector<std::vector<Tensor>> outputs;
          for (auto* executable : {want_by->get(), got_by->get()}) {
            ASSERT_TRUE(executable->bind_inputs(inputs));
            ASSERT_TRUE(executable->run_once());
            outputs.push_back(std::move(*executable->outputs()));
          }
          for (size_t i = 0; i < outputs[0].size(); ++i) {
            std::string why = disagreement(outputs[1][i], outputs[0][i], may_spread, slack);
            ASSERT_EQ(why, "") << dump(graph) << special << " in input " << special_input
                               << (everywhere ? ", at many places, " : ", at one place, ")
                               << threads << " threads, output " << i;
          }
        }
  }
}

TEST(SpecialValues, ElementByElement) {
  int operators = 0;
  for (const OpInfo& info : all_ops()) {
    if (!is_pointwise(info.kind) && info.kind != OpKind::Cast) continue;
    if (info.kind == OpKind::FusedMap || info.variadic()) continue;
    Builder b;
    std::vector<NodeId> operands;
    for (size_t i = 0; i < info.operands().size(); ++i)
      operands.push_back(b.input("x" + std::to_string(i), {3, 40}));
    bool bools = info.kind == OpKind::LogicalAnd || info.kind == OpKind::LogicalOr ||
                 info.kind == OpKind::LogicalNot;
    auto as_bool = [&](NodeId& id) {
      id = b.op(OpKind::Greater, {id, b.graph.constant({0}, f32({}))});
    };
    if (bools)
      for (NodeId& id : operands) as_bool(id);
    if (info.kind == OpKind::Select) as_bool(operands[0]);
    std::vector<Value> attrs;
    if (info.kind == OpKind::Cast) attrs = {Value::of_enum("f32")};
    if (info.kind == OpKind::Clip) attrs = {Value::of_float(-0.5), Value::of_float(0.75)};
    NodeId y = b.op(info.kind, operands, attrs);
    if (!y.valid()) continue;
    if (b.graph.type(y).dtype == DType::Bool) y = b.op(OpKind::Cast, {y}, {Value::of_enum("f32")});
    b.output(y);
    SCOPED_TRACE(std::string(info.name));
    // The C library's pow and mod agree with themselves; sin and cos of huge numbers do, too.
    check(b.graph, true);
    ++operators;
  }
  EXPECT_GE(operators, 35);
}

TEST(SpecialValues, ProductsWithEveryActivation) {
  for (const char* name : kActs)
    for (Shape shape : {Shape{1, 24}, Shape{17, 24}, Shape{2, 3, 8, 24}})
      for (bool residual : {false, true}) {
        Builder b;
        NodeId x = b.input("x", shape), w = b.weight("w", {24, 33});
        Shape result = shape;
        result.back() = 33;
        NodeId r = residual ? b.input("r", result) : b.none();
        if (residual) r = b.op(OpKind::Neg, {r}); // which dies here: added in place
        b.output(b.op(OpKind::Matmul, {x, w, b.weight("b", {33}), r}, {act(name)}));
        check(b.graph, false);
        Result<Graph> narrow = retype(b.graph, DType::BF16);
        ASSERT_TRUE(narrow.ok());
        check(*narrow, false);
      }
}

/// What no step converts as a whole.
TEST(SpecialValues, NormsOfBf16) {
  Builder b;
  NodeId x = b.input("x", {3, 40}), image = b.input("image", {1, 6, 5, 5});
  auto channels = [&](const char* name) { return b.weight(name, {6}); };
  b.output(b.op(OpKind::BatchNorm, {image, channels("scale"), channels("bias"), channels("mean"),
                                    b.op(OpKind::Abs, {channels("var")})}));
  b.output(b.op(OpKind::Softmax, {x}));
  b.output(b.op(OpKind::LayerNorm, {x, b.weight("s", {40}), b.weight("t", {40})}));
  Result<Graph> narrow = retype(b.graph, DType::BF16);
  ASSERT_TRUE(narrow.ok());
  check(*narrow, false);
}

TEST(SpecialValues, BatchedProductsWithEveryActivation) {
  for (const char* name : kActs) {
    Builder b;
    NodeId x = b.input("x", {2, 3, 8, 16}), y = b.input("y", {2, 3, 16, 8});
    b.output(b.op(OpKind::Matmul, {x, y, b.none(), b.none()}, {act(name)}));
    check(b.graph, false);
  }
}

/// Kernel, channels, groups, pixels.
struct Image {
  int64_t kernel, in, out, groups, size;
  bool may_spread; // Winograd's transforms take a number to its whole tile
};

TEST(SpecialValues, ConvolutionsWithEveryActivation) {
  for (const char* name : kActs)
    for (Image c : {Image{1, 16, 24, 1, 6, false}, Image{3, 5, 7, 1, 6, false},
                    Image{3, 16, 16, 16, 7, false}, Image{3, 8, 8, 2, 6, false},
                    Image{3, 16, 16, 1, 15, true}})
      for (bool residual : {false, true}) {
        Builder b;
        NodeId x = b.input("x", {1, c.in, c.size, c.size});
        NodeId w = b.weight("w", {c.out, c.in / c.groups, c.kernel, c.kernel});
        NodeId r =
            residual ? b.op(OpKind::Neg, {b.input("r", {1, c.out, c.size, c.size})}) : b.none();
        b.output(b.op(OpKind::Conv2d, {x, w, b.weight("b", {c.out}), r},
                      {pair(1, 1), act("same"), pair(1, 1), act(name)}));
        check(b.graph, false, c.may_spread);
      }
}

/// Against `conv2d` itself: how far a tile takes a number is the kernel's own affair.
TEST(SpecialValues, MinimalFilteringWithEveryActivation) {
  for (const char* name : kActs)
    for (bool residual : {false, true}) {
      Builder filtering, definition;
      for (Builder* b : {&filtering, &definition}) {
        NodeId x = b->input("x", {1, 8, 9, 9});
        NodeId w = b->weight("w", {16, 8, 3, 3}), bias = b->weight("b", {16});
        NodeId r = residual ? b->input("r", {1, 16, 9, 9}) : b->none();
        NodeId u = b->op(OpKind::WinogradWeight, {w}, {Value::of_int(4)});
        b->output(b == &filtering
                      ? b->op(OpKind::WinogradConv2d, {x, u, bias, r}, {act("same"), act(name)})
                      : b->op(OpKind::Conv2d, {x, w, bias, r},
                              {pair(1, 1), act("same"), pair(1, 1), act(name)}));
      }
      check(filtering.graph, false, true, &definition.graph);
    }
}

/// The tests above are all that take an activation.
TEST(SpecialValues, ActivationsOfEveryOperator) {
  for (const OpInfo& info : all_ops()) {
    bool tested = info.kind == OpKind::Matmul || info.kind == OpKind::Conv2d ||
                  info.kind == OpKind::WinogradConv2d;
    bool takes_one =
        llvm::any_of(info.attrs(), [](const AttrInfo& attr) { return attr.kind == AttrKind::act; });
    EXPECT_EQ(takes_one, tested) << std::string(info.name);
  }
}

/// Results large enough for every thread, with a NaN in what one of them makes.
void check_threads(const Graph& graph) {
  Plan plan = plan_from_graph(graph);
  CompileOptions options;
  options.threads = 2;
  auto executable = make_cpu_backend()->compile(plan, options);
  ASSERT_TRUE(executable);
  const TensorType& type = plan.values[plan.inputs[1]].type;
  Tensor x = with_special(plan.values[plan.inputs[0]].type, 0, 0);
  for (int64_t place = 0; place < 16; ++place) {
    Tensor residual = with_special(type, 0, 0);
    int64_t at = place * 7919 % type.elements(); // all over rows, columns, channels
    reinterpret_cast<float*>(residual.data())[at] = kNaN;
    ASSERT_TRUE((*executable)->bind_inputs({x, residual}));
    ASSERT_TRUE((*executable)->run_once());
    std::vector<Tensor> outputs = std::move(*(*executable)->outputs());
    auto values = reinterpret_cast<const float*>(outputs[0].data());
    EXPECT_TRUE(std::isnan(values[at])) << dump(graph) << at;
    EXPECT_EQ(llvm::count_if(llvm::makeArrayRef(values, static_cast<size_t>(type.elements())),
                             [](float v) { return std::isnan(v); }),
              1);
  }
}

TEST(SpecialValues, EveryThreadIsAsked) {
  Builder product, convolution;
  NodeId x = product.input("x", {192, 256});
  NodeId r = product.op(OpKind::Neg, {product.input("r", {192, 256})}); // added in place
  product.output(product.op(OpKind::Matmul, {x, product.weight("w", {256, 256}), product.none(), r},
                            {act("relu")}));
  check_threads(product.graph);
  NodeId y = convolution.input("y", {1, 32, 24, 24});
  NodeId s = convolution.op(OpKind::Neg, {convolution.input("s", {1, 64, 24, 24})});
  NodeId w = convolution.weight("w", {64, 32, 5, 5});
  convolution.output(convolution.op(OpKind::Conv2d, {y, w, convolution.none(), s},
                                    {pair(1, 1), act("same"), pair(1, 1), act("relu6")}));
  check_threads(convolution.graph);
}

TEST(SpecialValues, Windows) {
  for (OpKind op : {OpKind::MaxPool2d, OpKind::AvgPool2d})
    for (int64_t channels : {1, 5, 16, 40})
      for (int64_t kernel : {1, 2, 3}) {
        Builder b;
        NodeId x = b.input("x", {1, channels, 7, 8});
        b.output(
            b.op(op, {x}, {pair(kernel, kernel), pair(1, 2), act(kernel == 3 ? "same" : "valid")}));
        check(b.graph, false);
      }
}

TEST(SpecialValues, RowsAndReductions) {
  for (OpKind op : {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax, OpKind::ReduceMin,
                    OpKind::ReduceProd})
    for (int64_t axis : {0, 1, 2}) {
      Builder b;
      b.output(b.op(op, {b.input("x", {4, 19, 37})}, {Value::of_ints({axis})}));
      check(b.graph, false);
    }
  Builder b;
  NodeId x = b.input("x", {5, 37});
  b.output(b.op(OpKind::Softmax, {x}));
  b.output(b.op(OpKind::LayerNorm, {x, b.weight("s", {37}), b.weight("b", {37})},
                {Value::of_float(1)})); // a small eps would show how rows of one number round
  b.output(
      b.op(OpKind::Cast, {b.op(OpKind::Argmax, {x}, {Value::of_int(1)})}, {Value::of_enum("f32")}));
  check(b.graph, false);
}

TEST(SpecialValues, FusedGroupsAndMoves) {
  Builder b;
  NodeId x = b.input("x", {4, 50}), y = b.input("y", {4, 50});
  for (const char* body : {"relu(add($0, $1))", "maximum(mul($0, $1), $0)", "relu6(sub($1, $0))",
                           "sigmoid(minimum($0, $1))", "select(less($0, $1), $0, relu($1))"})
    b.output(b.op(OpKind::FusedMap, {x, y}, {Value::of_string(body)}));
  b.output(b.op(OpKind::Concat, {x, y}, {Value::of_int(1)}));
  check(b.graph, false);
}

TEST(SpecialValues, HalvesWithEveryActivation) {
  for (const char* dtype : {"f16", "bf16"})
    for (const char* name : kActs) {
      Builder b;
      NodeId x = b.op(OpKind::Cast, {b.input("x", {9, 32})}, {Value::of_enum(dtype)});
      NodeId w = b.op(OpKind::Cast, {b.weight("w", {32, 32})}, {Value::of_enum(dtype)});
      NodeId y = b.op(OpKind::Matmul, {x, w, b.none(), b.none()}, {act(name)});
      NodeId wide = b.op(OpKind::Cast, {y}, {Value::of_enum("f32")});
      NodeId is_nan = b.op(OpKind::NotEqual, {wide, wide}); // whatever the rounding
      b.output(b.op(OpKind::Cast, {is_nan}, {Value::of_enum("f32")}));
      check(b.graph, false);
    }
}

/// They are outputs, so they are copied and not only viewed.
TEST(SpecialValues, TransposedHalvesKeepTheSignOfZero) {
  for (const char* dtype : {"f16", "bf16"}) {
    Builder b;
    NodeId whole = b.op(OpKind::Floor, {b.input("x", {9, 20})});
    NodeId half = b.op(OpKind::Cast, {b.op(OpKind::Neg, {whole})}, {Value::of_enum(dtype)});
    b.output(b.op(OpKind::Transpose, {half}, {Value::of_ints({1, 0})}));
    Plan plan = plan_from_graph(b.graph);
    std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
    std::vector<Tensor> got = outputs_of(*make_cpu_backend(), plan, {});
    EXPECT_EQ(summarise(got[0]).checksum, summarise(want[0]).checksum) << dtype;
  }
}

/// A run after one with NaN has the bits that it would have had, and the other way round.
TEST(SpecialValues, RunsDoNotRememberThem) {
  Builder b;
  NodeId x = b.input("x", {4, 16}), w = b.weight("w", {16, 16});
  NodeId r = b.op(OpKind::Neg, {x});
  b.output(b.op(OpKind::Matmul, {x, w, b.none(), r}, {act("relu")}));
  Plan plan = plan_from_graph(b.graph);
  auto executable = make_cpu_backend()->compile(plan, {});
  ASSERT_TRUE(executable);
  const TensorType& type = plan.values[plan.inputs[0]].type;
  std::vector<Tensor> with_nan, without;
  for (float special : {0.5f, kNaN, 0.5f, kNaN, kNaN, 0.5f}) {
    ASSERT_TRUE((*executable)->bind_inputs({with_special(type, special, 1)}));
    ASSERT_TRUE((*executable)->run_once());
    std::vector<Tensor> outputs = std::move(*(*executable)->outputs());
    auto values = reinterpret_cast<const float*>(outputs[0].data());
    EXPECT_EQ(std::isnan(values[3]), std::isnan(special));
    std::vector<Tensor>& first = std::isnan(special) ? with_nan : without;
    if (first.empty())
      first = std::move(outputs);
    else
      EXPECT_EQ(std::memcmp(values, first[0].data(), static_cast<size_t>(type.elements()) * 4), 0);
  }
}

} // namespace
} // namespace tg::test
