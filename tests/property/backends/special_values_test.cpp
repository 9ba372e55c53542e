// Tests NaN, infinite, tiny and huge numbers in every operator with float operands,
// on `cpu` against `ref`: NaN and infinities at the same places, and equal numbers elsewhere.
// The special numbers are put into every input and every weight, and weights are also tested
// as inputs. ctest also runs this for each instruction set to which oneDNN can be limited
// (DNNL_MAX_CPU_ISA).
#include "compiler/ir/retype.h"
#include "runtime/convert.h"
#include "tests/property/backends/every_operator.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tg::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kSpecial[] = {kNaN,  -kNaN,  kInf,   -kInf, -0.0f,   1e-42f, -1e-42f,
                              1e38f, -1e38f, 3e-38f, 88.8f, -104.0f, -1.0f,  0.5f};
constexpr float kSpecialOfSums[] = {kNaN, kInf, -kInf, -0.0f};
const char* const kActs[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};

/// Converts an f32 tensor to another dtype.
Tensor as_dtype(Tensor tensor, DType dtype) {
  if (dtype == DType::F32) return tensor;
  Tensor other = *Tensor::zeros({dtype, tensor.type().shape});
  convert(DType::F32, tensor.data(), dtype, other.data(), tensor.type().elements());
  return other;
}

/// Ordinary numbers, with a special one at some places. Integers and bools are small integers.
Tensor with_special(const TensorType& type, float special, size_t places) {
  Tensor tensor = *Tensor::zeros({DType::F32, type.shape});
  auto values = reinterpret_cast<float*>(tensor.data());
  auto count = static_cast<size_t>(type.elements());
  bool whole = !is_float(type.dtype);
  for (size_t i = 0; i < count; ++i)
    values[i] = whole ? static_cast<float>(i % 2) : static_cast<float>((i * 37) % 41) / 16 - 1.1f;
  for (size_t k = 0; k < places && count > 0 && !whole; ++k)
    values[(k * 7919 + 3) % count] = special;
  return as_dtype(std::move(tensor), type.dtype);
}

/// The scope and the options of a comparison.
struct Checked {
  bool huge = true;        // also numbers near the end of the range, whose sums of products
                           // overflow
  bool may_spread = false; // from an element to its neighbours (minimal filtering)
  bool alike = false;      // accepts infinity for NaN: 0 * inf is NaN, and a sum that cancels may
                           // not be exactly 0
  double slack = 1e-4;     // relative to the largest number
  llvm::ArrayRef<float> special = kSpecial;
  const Graph* definition = nullptr; // an equivalent graph for `ref`
};

/// Returns "" if the tensors agree, with numbers within `slack` of the largest, or of `least`.
std::string disagreement(const Tensor& got, const Tensor& want, const Checked& how, double least) {
  if ((!how.may_spread && !how.alike) || !is_float(want.type().dtype))
    return first_disagreement(got, want, how.slack, least);
  std::vector<double> g = got.doubles(), w = want.doubles();
  double scale = least, slack = how.slack;
  for (double x : w)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  for (size_t i = 0; i < w.size(); ++i) {
    bool same =
        std::isfinite(w[i])
            ? (std::isfinite(g[i]) || how.may_spread) && !(std::abs(g[i] - w[i]) > slack * scale)
            : !std::isfinite(g[i]) && (how.alike || std::isnan(g[i]) || !std::isnan(w[i]));
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(g[i]) + ", not " +
             std::to_string(w[i]);
  }
  return "";
}

/// An input or weight, and the special number in it.
struct Site {
  PlanValueId value;
  float special;
  bool everywhere;
};

/// All special values in the first input, and those of sums in the other float inputs
/// and weights, at one place and at many.
std::vector<Site> sites(const Plan& plan, const Checked& how) {
  std::vector<Site> all;
  for (PlanValueId id = 0; id < plan.values.size(); ++id) {
    const PlanValue& value = plan.values[id];
    bool given = value.kind == PlanValue::Kind::Input || value.kind == PlanValue::Kind::Weight;
    if (!given || !is_float(value.type.dtype)) continue;
    bool first = !plan.inputs.empty() && id == plan.inputs[0];
    for (float special : first ? how.special : kSpecialOfSums)
      for (bool everywhere : {false, true})
        if (how.huge || !std::isfinite(special) || std::abs(special) < 1e30f)
          all.push_back({id, special, everywhere});
  }
  return all;
}

/// Runs a plan whose inputs and weights hold ordinary numbers, with a site's special number
/// in its value. Executables are compiled again if weights differ.
class SpecialRun {
public:
  SpecialRun(const Backend& backend, const Plan& plan, int threads)
      : backend_(backend), plan_(plan) {
    options_.threads = threads;
  }

  std::vector<Tensor> outputs(const PlanValue& at, const Site& site) {
    if (!executable_ || at.kind == PlanValue::Kind::Weight || special_weights_) {
      special_weights_ = at.kind == PlanValue::Kind::Weight;
      options_.weights = [&](const PlanValue& value) -> Result<Tensor> {
        return tensor(value, at, site);
      };
      auto made = backend_.compile(plan_, options_);
      EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
      if (!made) return {};
      executable_ = std::move(*made);
    }
    std::vector<Tensor> inputs;
    for (PlanValueId id : plan_.inputs) inputs.push_back(tensor(plan_.values[id], at, site));
    EXPECT_TRUE(executable_->bind_inputs(inputs));
    EXPECT_TRUE(executable_->run_once());
    return std::move(*executable_->outputs());
  }

private:
  static Tensor tensor(const PlanValue& value, const PlanValue& at, const Site& site) {
    constexpr size_t kMany = 4000;
    size_t all = std::min(static_cast<size_t>(value.type.elements()) * 8000, kMany);
    bool here = value.name == at.name;
    return with_special(value.type, site.special, !here ? 0 : site.everywhere ? all : 1);
  }

  const Backend& backend_;
  const Plan& plan_;
  CompileOptions options_;
  std::unique_ptr<Executable> executable_;
  bool special_weights_ = false;
};

/// Runs a graph with each special value in each of its inputs and weights.
void check(const Graph& graph, const Checked& how) {
  Plan plan = plan_from_graph(graph);
  Plan defined = plan_from_graph(how.definition ? *how.definition : graph);
  auto ref = make_ref_backend(), cpu = make_cpu_backend();
  // On its far negative side, gelu has only the digits that 1 + erf leaves.
  double least = dump(graph).find("gelu") == std::string::npos ? 1e-30 : 0.02;
  SpecialRun want_by(*ref, defined, 1);
  SpecialRun got_by[] = {SpecialRun(*cpu, plan, 1), SpecialRun(*cpu, plan, 2)};
  for (const Site& site : sites(plan, how)) {
    const PlanValue& at = plan.values[site.value];
    std::vector<Tensor> want = want_by.outputs(at, site);
    for (SpecialRun& run : got_by) {
      std::vector<Tensor> got = run.outputs(at, site);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(disagreement(got[i], want[i], how, least), "")
            << dump(graph) << site.special << " in " << at.name
            << (site.everywhere ? ", at many places, " : ", at one place, ") << 1 + (&run - got_by)
            << " threads, output " << i;
    }
  }
}

constexpr double kSlackOfBf16 = 0x1p-7;

/// A builder whose weights are either weights or inputs.
struct LayerBuilder : Builder {
  explicit LayerBuilder(bool weights_are_inputs) : weights_are_inputs_(weights_are_inputs) {}
  NodeId weight(llvm::StringRef path, Shape shape) {
    return weights_are_inputs_ ? Builder::input(path, shape) : Builder::weight(path, shape);
  }

private:
  bool weights_are_inputs_;
};

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
    // pow, mod, sin and cos of huge numbers agree, since both sides use the C library.
    check(b.graph, {});
    ++operators;
  }
  EXPECT_GE(operators, 35);
}

TEST(SpecialValues, ProductsWithEveryActivation) {
  for (const char* name : kActs)
    for (Shape shape : {Shape{1, 24}, Shape{17, 24}, Shape{2, 3, 8, 24}})
      for (bool residual : {false, true}) {
        LayerBuilder b(residual == (shape.size() == 2));
        NodeId x = b.input("x", shape), w = b.weight("w", {24, 33});
        Shape result = shape;
        result.back() = 33;
        NodeId r = residual ? b.input("r", result) : b.none();
        if (residual) r = b.op(OpKind::Neg, {r}); // dies here: added in place
        b.output(b.op(OpKind::Matmul, {x, w, b.weight("b", {33}), r}, {act(name)}));
        check(b.graph, {.huge = false});
        Result<Graph> narrow = retype(b.graph, DType::BF16);
        ASSERT_TRUE(narrow.ok());
        check(*narrow, {.huge = false, .slack = kSlackOfBf16});
      }
}

/// Norms in bf16, whose conversion no single step covers.
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
  check(*narrow, {.huge = false, .slack = kSlackOfBf16});
}

TEST(SpecialValues, BatchedProductsWithEveryActivation) {
  for (const char* name : kActs) {
    Builder b;
    NodeId x = b.input("x", {2, 3, 8, 16}), y = b.input("y", {2, 3, 16, 8});
    b.output(b.op(OpKind::Matmul, {x, y, b.none(), b.none()}, {act(name)}));
    check(b.graph, {.huge = false});
  }
}

/// Kernel, channels, groups, pixels.
struct Image {
  int64_t kernel, in, out, groups, size;
  bool may_spread; // Winograd's transforms spread a number over its whole tile
};

TEST(SpecialValues, ConvolutionsWithEveryActivation) {
  for (const char* name : kActs)
    for (Image c : {Image{1, 16, 24, 1, 6, false}, Image{3, 5, 7, 1, 6, false},
                    Image{3, 16, 16, 16, 7, false}, Image{3, 8, 8, 2, 6, false},
                    Image{3, 16, 16, 1, 15, true}})
      for (bool residual : {false, true}) {
        LayerBuilder b(/*weights_are_inputs=*/residual);
        NodeId x = b.input("x", {1, c.in, c.size, c.size});
        NodeId w = b.weight("w", {c.out, c.in / c.groups, c.kernel, c.kernel});
        NodeId r =
            residual ? b.op(OpKind::Neg, {b.input("r", {1, c.out, c.size, c.size})}) : b.none();
        b.output(b.op(OpKind::Conv2d, {x, w, b.weight("b", {c.out}), r},
                      {pair(1, 1), act("same"), pair(1, 1), act(name)}));
        check(b.graph, {.huge = false, .may_spread = c.may_spread});
      }
}

/// Compared with `conv2d` itself. The kernel determines how far a number spreads in a tile.
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
      check(filtering.graph, {.huge = false, .may_spread = true, .definition = &definition.graph});
    }
}

/// The tests above cover all operators with an activation.
TEST(SpecialValues, ActivationsOfEveryOperator) {
  for (const OpInfo& info : all_ops()) {
    bool tested = info.kind == OpKind::Matmul || info.kind == OpKind::Conv2d ||
                  info.kind == OpKind::WinogradConv2d;
    bool takes_one =
        llvm::any_of(info.attrs(), [](const AttrInfo& attr) { return attr.kind == AttrKind::act; });
    EXPECT_EQ(takes_one, tested) << std::string(info.name);
  }
}

/// Runs on results large enough for every thread, with a NaN in one thread's part.
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
    int64_t at = place * 7919 % type.elements(); // spread over rows, columns and channels
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

TEST(SpecialValues, EveryThreadIsChecked) {
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
        check(b.graph, {.huge = false});
      }
}

TEST(SpecialValues, RowsAndReductions) {
  for (OpKind op : {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax, OpKind::ReduceMin,
                    OpKind::ReduceProd})
    for (int64_t axis : {0, 1, 2}) {
      Builder b;
      b.output(b.op(op, {b.input("x", {4, 19, 37})}, {Value::of_ints({axis})}));
      check(b.graph, {.huge = false});
    }
  Builder b;
  NodeId x = b.input("x", {5, 37});
  b.output(b.op(OpKind::Softmax, {x}));
  b.output(b.op(OpKind::LayerNorm, {x, b.weight("s", {37}), b.weight("b", {37})},
                {Value::of_float(1)})); // a small eps would amplify the rounding of constant rows
  b.output(
      b.op(OpKind::Cast, {b.op(OpKind::Argmax, {x}, {Value::of_int(1)})}, {Value::of_enum("f32")}));
  check(b.graph, {.huge = false});
}

TEST(SpecialValues, FusedGroupsAndMoves) {
  Builder b;
  NodeId x = b.input("x", {4, 50}), y = b.input("y", {4, 50});
  for (const char* body : {"relu(add($0, $1))", "maximum(mul($0, $1), $0)", "relu6(sub($1, $0))",
                           "sigmoid(minimum($0, $1))", "select(less($0, $1), $0, relu($1))"})
    b.output(b.op(OpKind::FusedMap, {x, y}, {Value::of_string(body)}));
  b.output(b.op(OpKind::Concat, {x, y}, {Value::of_int(1)}));
  check(b.graph, {.huge = false});
}

TEST(SpecialValues, HalvesWithEveryActivation) {
  for (const char* dtype : {"f16", "bf16"})
    for (const char* name : kActs) {
      Builder b;
      NodeId x = b.op(OpKind::Cast, {b.input("x", {9, 32})}, {Value::of_enum(dtype)});
      NodeId w = b.op(OpKind::Cast, {b.weight("w", {32, 32})}, {Value::of_enum(dtype)});
      NodeId y = b.op(OpKind::Matmul, {x, w, b.none(), b.none()}, {act(name)});
      NodeId wide = b.op(OpKind::Cast, {y}, {Value::of_enum("f32")});
      NodeId is_nan = b.op(OpKind::NotEqual, {wide, wide}); // does not depend on rounding
      b.output(b.op(OpKind::Cast, {is_nan}, {Value::of_enum("f32")}));
      check(b.graph, {.huge = false});
    }
}

/// They are outputs, so that they are copied and not just views.
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

/// Numbers after a product have other rounding errors, which an operator with cancellation can
/// amplify without limit. There only the places of NaN and infinities are compared.
double slack_of(DType floats, Operands form = Operands::Inputs) {
  if (form == Operands::Products) return kInf;
  return floats == DType::F16 ? 0x1p-9 : floats == DType::BF16 ? kSlackOfBf16 : 1e-4;
}

/// Checks instances of every operator in every dtype, and returns their number.
/// Minimal filtering is compared with its convolution, above.
size_t check_instances(uint64_t seed, llvm::ArrayRef<Operands> forms) {
  size_t of_each = std::getenv("TANGRAM_FULL_TESTS") ? 60 : 2, ran = 0;
  uint64_t draw = 0;
  for (const Instance& one : instances(seed, of_each))
    for (DType floats : {DType::F32, DType::F16, DType::BF16})
      for (Operands form : forms) {
        if (one.op == OpKind::WinogradConv2d || one.op == OpKind::WinogradWeight) continue;
        InstanceGraph drawn(one, floats, form, ++draw);
        if (!drawn.is_valid()) continue;
        check(drawn.graph(), {.huge = false,
                              .may_spread = floats == DType::BF16, // oneDNN uses pairs of channels
                              .alike = true,
                              .slack = slack_of(floats, form),
                              .special = kSpecialOfSums});
        if (testing::Test::HasFailure()) return ran;
        ++ran;
      }
  return ran;
}

TEST(SpecialValues, EveryOperatorWithInputsAndWeights) {
  EXPECT_GT(check_instances(1, {Operands::Inputs, Operands::Weights}), 400u);
}

/// Each operator after products and convolutions with a fused activation.
TEST(SpecialValues, EveryOperatorBehindProducts) {
  EXPECT_GT(check_instances(2, {Operands::Products}), 200u);
}

/// Padding consists of zeros that are multiplied, in every kernel: for all windows and groups,
/// with weights known at load or not.
TEST(SpecialValues, PaddingTimesEveryWeight) {
  for (bool weights_are_inputs : {false, true})
    for (Image c :
         {Image{1, 3, 4, 1, 5, false}, Image{3, 1, 1, 1, 4, false}, Image{3, 5, 7, 1, 8, false},
          Image{3, 16, 16, 16, 9, false}, Image{3, 8, 8, 2, 6, false}, Image{5, 4, 6, 1, 9, false},
          Image{3, 16, 16, 1, 15, true}, Image{2, 64, 48, 1, 9, false}})
      for (int64_t stride : {1, 2})
        for (int64_t dilation : {1, 2})
          for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
            if (dtype != DType::F32 && stride != dilation) continue;
            LayerBuilder b(weights_are_inputs);
            NodeId x = b.input("x", {2, c.in, c.size, c.size});
            NodeId w = b.weight("w", {c.out, c.in / c.groups, c.kernel, c.kernel});
            b.output(b.op(OpKind::Conv2d, {x, w, b.weight("b", {c.out}), b.none()},
                          {pair(stride, stride), Value::of_ints({1, 2, 0, 2}),
                           pair(dilation, dilation), act(stride == 1 ? "relu" : "none")}));
            Result<Graph> graph = retype(b.graph, dtype);
            ASSERT_TRUE(graph.ok());
            check(*graph, {.huge = false,
                           .may_spread = c.may_spread || dtype == DType::BF16, // pairs in oneDNN
                           .slack = slack_of(dtype),
                           .special = kSpecialOfSums});
          }
}

TEST(SpecialValues, PaddingOfVolumesTimesEveryWeight) {
  for (bool weights_are_inputs : {false, true})
    for (int64_t channels : {1, 8, 16})
      for (int64_t groups : {int64_t{1}, channels}) {
        LayerBuilder b(weights_are_inputs);
        NodeId x = b.input("x", {1, channels, 3, 5, 6});
        NodeId w = b.weight("w", {channels, channels / groups, 3, 3, 2});
        b.output(b.op(OpKind::Conv3d, {x, w, b.none()},
                      {Value::of_ints({1, 2, 1}), Value::of_ints({1, 1, 0, 1, 0, 1}),
                       Value::of_ints({1, 1, 2})}));
        check(b.graph, {.huge = false, .special = kSpecialOfSums});
      }
}

/// Expected values follow from the definition by IEEE 754, with weights or inputs.
/// ONNX's reference implementation agrees.
TEST(SpecialValues, ZerosOfPaddingTimesInfinityAreNaN) {
  Builder b;
  b.output(b.op(OpKind::Conv2d,
                {b.input("x", {1, 1, 2, 2}), b.input("w", {1, 1, 3, 3}), b.none(), b.none()},
                {pair(1, 1), act("same")}));
  Plan plan = plan_from_graph(b.graph);
  std::vector<Tensor> inputs;
  for (PlanValueId id : plan.inputs) inputs.push_back(with_special(plan.values[id].type, 0, 0));
  llvm::MutableArrayRef<float> w = inputs[1].floats();
  std::fill(inputs[0].floats().begin(), inputs[0].floats().end(), 1.0f);
  std::fill(w.begin(), w.end(), 1.0f);
  w[0] = kInf; // above and to the left
  for (bool own : {false, true}) {
    auto executable = (own ? make_cpu_backend() : make_ref_backend())->compile(plan, {});
    ASSERT_TRUE(executable);
    ASSERT_TRUE((*executable)->bind_inputs(inputs));
    ASSERT_TRUE((*executable)->run_once());
    std::vector<float> y = (*(*executable)->outputs())[0].floats().vec();
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]));
    EXPECT_EQ(y[3], kInf);
  }
}

/// A run after one with NaN gives the same bits as without it, and vice versa.
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
