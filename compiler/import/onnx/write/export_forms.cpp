#include "compiler/import/onnx/write/export_forms.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::onnx {

namespace {

constexpr double kCubic = 0.044715;               // from the tanh approximation of gelu
constexpr double kTanhScale = 0.7978845608028654; // sqrt(2 / pi)

/// Returns true if both are the same number in f32, the precision of files.
bool same_number(double a, double b) { return static_cast<float>(a) == static_cast<float>(b); }
bool is_f32_number(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

class Matcher {
public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  std::optional<WrittenForm> tanh_gelu(NodeId root) const;
  std::optional<WrittenForm> hard_sigmoid(NodeId root) const;
  std::optional<WrittenForm> rms_norm(NodeId root) const;
  std::optional<WrittenForm> repeat(NodeId root) const;
  std::optional<WrittenForm> stride(NodeId root) const;

private:
  /// A product of numbers and other factors.
  struct Product {
    double number = 1;
    llvm::SmallVector<NodeId, 4> factors;
    /// Returns the other factor of two.
    NodeId other_factor(NodeId x) const {
      if (factors.size() != 2) return {};
      if (factors[0] == x) return factors[1];
      return factors[1] == x ? factors[0] : NodeId{};
    }
  };
  static constexpr size_t kMostFactors = 4;
  static constexpr size_t kMostTerms = 32; // of products, and of numbers in them

  bool is(NodeId id, OpKind op) const { return graph_.node(id).op == op; }
  NodeId operand(NodeId id, size_t i = 0) const { return graph_.operands(id)[i]; }
  /// Returns the number that all elements of a constant equal.
  std::optional<double> number(NodeId id) const;
  bool is_number(NodeId id, double value) const {
    std::optional<double> known = number(id);
    return known && same_number(*known, value);
  }
  /// Returns the operand that is added to a number, and sets the number.
  NodeId plus_number(NodeId sum, double& value) const;
  /// Returns false if it has too many factors or terms.
  bool multiply(NodeId root, Product& product) const;
  Product product(NodeId id) const;
  static bool is_power(const Product& product, NodeId x, size_t exponent) {
    return product.factors.size() == exponent &&
           llvm::all_of(product.factors, [&](NodeId factor) { return factor == x; });
  }
  /// Matches the sum of the mean of squares of x's rows and a number, and sets the number.
  bool is_mean_of_squares(NodeId sum, NodeId x, double& number) const;
  NodeId below_root(NodeId root) const { return is(root, OpKind::Sqrt) ? operand(root) : NodeId{}; }
  NodeId below_inverse_root(NodeId x) const;

  const Graph& graph_;
};

std::optional<double> Matcher::number(NodeId id) const {
  if (!is(id, OpKind::Constant)) return std::nullopt;
  const Value& value = graph_.attr(id, 0);
  if (value.reals.size() + value.ints.size() != 1) return std::nullopt;
  return value.reals.empty() ? static_cast<double>(value.ints[0]) : value.reals[0];
}

NodeId Matcher::plus_number(NodeId sum, double& value) const {
  if (!is(sum, OpKind::Add)) return {};
  for (size_t i = 0; i < 2; ++i)
    if (std::optional<double> known = number(operand(sum, i))) {
      value = *known;
      return operand(sum, 1 - i);
    }
  return {};
}

bool Matcher::multiply(NodeId root, Product& product) const {
  llvm::SmallVector<NodeId, 8> worklist{root};
  for (size_t terms = 0; !worklist.empty(); ++terms) {
    if (terms == kMostTerms) return false;
    NodeId id = worklist.pop_back_val();
    if (std::optional<double> known = number(id)) {
      product.number *= *known;
      continue;
    }
    if (is(id, OpKind::Mul)) {
      worklist.append({operand(id, 1), operand(id)}); // the first operand is visited first
      continue;
    }
    size_t exponent = 1;
    for (size_t of : {2, 3})
      if (is(id, OpKind::Pow) && is_number(operand(id, 1), static_cast<double>(of))) exponent = of;
    product.factors.append(exponent, exponent > 1 ? operand(id) : id);
    if (product.factors.size() > kMostFactors) return false;
  }
  return true;
}

Matcher::Product Matcher::product(NodeId id) const {
  Product product;
  if (!multiply(id, product)) product.factors.clear();
  return product;
}

/// Matches 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))), in any order.
std::optional<WrittenForm> Matcher::tanh_gelu(NodeId root) const {
  Product halves = product(root);
  if (halves.factors.size() != 2 || !same_number(halves.number, 0.5)) return std::nullopt;
  for (NodeId x : halves.factors) {
    double one = 0;
    NodeId tanh = plus_number(halves.other_factor(x), one);
    if (!tanh.valid() || one != 1 || !is(tanh, OpKind::Tanh)) continue;
    Product scaled = product(operand(tanh));
    if (scaled.factors.size() != 1 || !same_number(scaled.number, kTanhScale)) continue;
    NodeId sum = scaled.factors[0];
    if (!is(sum, OpKind::Add)) continue;
    for (size_t i = 0; i < 2; ++i) {
      Product cube = product(operand(sum, i));
      if (operand(sum, 1 - i) == x && is_power(cube, x, 3) && same_number(cube.number, kCubic))
        return WrittenForm{WrittenForm::Kind::TanhGelu, x};
    }
  }
  return std::nullopt;
}

/// Its numbers become attributes, which are f32.
std::optional<WrittenForm> Matcher::hard_sigmoid(NodeId root) const {
  if (!is(root, OpKind::Clip) || graph_.attr(root, 0).real != 0 || graph_.attr(root, 1).real != 1)
    return std::nullopt;
  WrittenForm form{WrittenForm::Kind::HardSigmoid, {}};
  NodeId inner = plus_number(operand(root), form.beta);
  if (!inner.valid()) return std::nullopt;
  Product scaled = product(inner);
  bool is_scaled = scaled.factors.size() == 1;
  form.x = is_scaled ? scaled.factors[0] : inner;
  form.alpha = is_scaled ? scaled.number : 1;
  if (!is_f32_number(form.alpha) || !is_f32_number(form.beta)) return std::nullopt;
  return form;
}

bool Matcher::is_mean_of_squares(NodeId sum, NodeId x, double& number) const {
  NodeId mean = plus_number(sum, number);
  if (!mean.valid() || !is(mean, OpKind::ReduceMean)) return false;
  const TensorType& type = graph_.type(x);
  Product squares = product(operand(mean));
  return graph_.attr(mean, 0).ints == Shape{type.rank() - 1} &&
         graph_.type(mean).rank() == type.rank() && squares.number == 1 && is_power(squares, x, 2);
}

NodeId Matcher::below_inverse_root(NodeId x) const {
  if (is(x, OpKind::Rsqrt)) return operand(x);
  bool inverts = is(x, OpKind::Div) && is_number(operand(x), 1);
  return inverts ? below_root(operand(x, 1)) : NodeId{};
}

/// Matches x * (1 / root) or x / root, with the root of the mean of squares, optionally
/// times a scale.
std::optional<WrittenForm> Matcher::rms_norm(NodeId root) const {
  Product parts = product(root);
  const TensorType& type = graph_.type(root);
  if (parts.number != 1 || parts.factors.size() > 3 || type.rank() == 0) return std::nullopt;
  auto is_scale = [&](NodeId x) {
    return graph_.node(x).weight_only && graph_.type(x).shape == Shape{type.shape.back()};
  };
  WrittenForm form{WrittenForm::Kind::RmsNorm, {}};
  NodeId inverse;
  for (NodeId factor : parts.factors)
    if (is_scale(factor) && !form.scale.valid())
      form.scale = factor;
    else if (is(factor, OpKind::Div) || is(factor, OpKind::Rsqrt))
      inverse = factor;
    else
      form.x = factor;
  bool alone = !form.x.valid() && inverse.valid() && !is(inverse, OpKind::Div);
  if (!inverse.valid() || alone || parts.factors.size() != 1u + form.x.valid() + form.scale.valid())
    return std::nullopt;
  NodeId sum = form.x.valid() ? below_inverse_root(inverse) : below_root(operand(inverse, 1));
  if (!form.x.valid()) form.x = operand(inverse);
  if (!sum.valid() || !is_mean_of_squares(sum, form.x, form.beta)) return std::nullopt;
  // Rows less their mean belong to a layer norm, which needs no scale of ones.
  bool centred = is(form.x, OpKind::Sub) && is(operand(form.x, 1), OpKind::ReduceMean);
  if (!form.scale.valid() && centred) return std::nullopt;
  return form;
}

/// Matches reshape(broadcast(reshape(x))), where the inner shape has an axis of 1 after each
/// axis of x whose elements are repeated. Only for images: for other axes runtimes have no
/// better kernel.
std::optional<WrittenForm> Matcher::repeat(NodeId root) const {
  if (!is(root, OpKind::Reshape)) return std::nullopt;
  NodeId wide = operand(root);
  if (!is(wide, OpKind::Broadcast) || !is(operand(wide), OpKind::Reshape)) return std::nullopt;
  NodeId apart = operand(wide), x = operand(apart);
  const Shape &from = graph_.type(x).shape, &to = graph_.type(root).shape;
  bool of_images = from.size() == 4 && to.size() == 4 && from[0] == to[0] && from[1] == to[1];
  if (!of_images) return std::nullopt;
  WrittenForm form{WrittenForm::Kind::Repeat, x};
  Shape expected_apart, expected_wide;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (to[axis] % from[axis] != 0) return std::nullopt;
    int64_t times = to[axis] / from[axis];
    form.times.push_back(times);
    expected_apart.push_back(from[axis]);
    expected_wide.push_back(from[axis]);
    if (times == 1) continue;
    expected_apart.push_back(1);
    expected_wide.push_back(times);
  }
  bool matches =
      graph_.type(apart).shape == expected_apart && graph_.type(wide).shape == expected_wide;
  return matches ? std::optional<WrittenForm>(form) : std::nullopt;
}

/// Matches a gather of known, increasing, equally spaced indices.
std::optional<WrittenForm> Matcher::stride(NodeId root) const {
  NodeId indices = operand(root, 1);
  const TensorType& type = graph_.type(indices);
  if (!is(indices, OpKind::Constant) || type.rank() != 1) return std::nullopt;
  const Value& value = graph_.attr(indices, 0);
  std::vector<int64_t> places(value.ints.begin(), value.ints.end());
  for (double place : value.reals) places.push_back(static_cast<int64_t>(place));
  auto count = static_cast<int64_t>(places.size());
  if (count < 2 || count != type.elements() || places[0] < 0) return std::nullopt;
  WrittenForm form{WrittenForm::Kind::Stride, operand(root)};
  form.axis = graph_.attr(root, 0).number;
  form.first = places[0];
  form.count = count;
  form.step = places[1] - places[0];
  for (int64_t i = 0; i < count; ++i)
    if (form.step < 1 || places[i] != form.first + i * form.step) return std::nullopt;
  return form;
}

/// Writes gelu in the order and spelling that runtimes recognise, or as one operator from opset 20.
Operand write_tanh_gelu(NodeWriter& nodes, const Operand& x) {
  auto node = [&](const char* type, llvm::ArrayRef<Operand> inputs) {
    return nodes.node(type, inputs, x.dtype);
  };
  auto number = [&](double value) { return nodes.scalar(value, x.dtype); };
  if (nodes.opset() >= 20)
    return nodes.node("Gelu", {x}, x.dtype, {Attr::word("approximate", "tanh")});
  Operand half = node("Mul", {x, number(0.5)});
  Operand cube = node("Mul", {node("Pow", {x, number(3)}), number(kCubic)});
  Operand tanh = node("Tanh", {node("Mul", {node("Add", {x, cube}), number(kTanhScale)})});
  return node("Mul", {half, node("Add", {tanh, number(1)})});
}

Operand write_rms_norm(NodeWriter& nodes, const WrittenForm& form, const TensorType& type,
                       const Operand& x, Operand scale) {
  auto node = [&](const char* op, llvm::ArrayRef<Operand> inputs) {
    return nodes.node(op, inputs, x.dtype);
  };
  Operand squares = node("Pow", {x, nodes.scalar(2, x.dtype)});
  int64_t axis = type.rank() - 1;
  Operand mean = nodes.opset() < 18
                     ? nodes.node("ReduceMean", {squares}, x.dtype, {Attr::list("axes", axis)})
                     : node("ReduceMean", {squares, nodes.list(axis)});
  Operand root = node("Sqrt", {node("Add", {mean, nodes.scalar(form.beta, x.dtype)})});
  if (scale.name.empty()) {
    std::vector<double> ones(static_cast<size_t>(type.shape.back()), 1.0);
    scale = nodes.tensor("scale", {x.dtype, {type.shape.back()}},
                         element_bytes(llvm::ArrayRef<double>(ones), x.dtype));
  }
  return node("Mul", {node("Div", {x, root}), scale});
}

Operand write_stride(NodeWriter& nodes, const WrittenForm& form, const Operand& x) {
  int64_t end = form.first + (form.count - 1) * form.step + 1;
  return nodes.node(
      "Slice",
      {x, nodes.list(form.first), nodes.list(end), nodes.list(form.axis), nodes.list(form.step)},
      x.dtype);
}

Operand write_repeat(NodeWriter& nodes, const WrittenForm& form, const Operand& x) {
  std::vector<double> scales(form.times.begin(), form.times.end());
  TensorType type{DType::F32, {static_cast<int64_t>(scales.size())}};
  Operand by =
      nodes.tensor("scales", type, element_bytes(llvm::ArrayRef<double>(scales), DType::F32));
  return nodes.node("Resize", {x, Operand{}, by}, x.dtype,
                    {Attr::word("mode", "nearest"), Attr::word("nearest_mode", "floor"),
                     Attr::word("coordinate_transformation_mode", "asymmetric")});
}

} // namespace

std::optional<WrittenForm> form_of(const Graph& graph, NodeId root) {
  DType dtype = graph.type(root).dtype;
  Matcher matcher(graph);
  if (graph.node(root).op == OpKind::Gather && dtype != DType::BF16) return matcher.stride(root);
  if (dtype != DType::F32) return std::nullopt;
  std::optional<WrittenForm> form;
  switch (graph.node(root).op) {
  case OpKind::Mul:
    form = matcher.tanh_gelu(root);
    if (!form) form = matcher.rms_norm(root);
    break;
  case OpKind::Div: form = matcher.rms_norm(root); break;
  case OpKind::Clip: form = matcher.hard_sigmoid(root); break;
  case OpKind::Reshape: return matcher.repeat(root);
  default: return std::nullopt;
  }
  // Numbers as large as the result would have to broadcast.
  if (form && graph.type(form->x).shape != graph.type(root).shape) return std::nullopt;
  return form;
}

Operand write_form(NodeWriter& nodes, const WrittenForm& form, const TensorType& type,
                   const Operand& x, const Operand& scale) {
  switch (form.kind) {
  case WrittenForm::Kind::TanhGelu: return write_tanh_gelu(nodes, x);
  case WrittenForm::Kind::HardSigmoid:
    return nodes.node("HardSigmoid", {x}, x.dtype,
                      {Attr::real("alpha", form.alpha), Attr::real("beta", form.beta)});
  case WrittenForm::Kind::RmsNorm: return write_rms_norm(nodes, form, type, x, scale);
  case WrittenForm::Kind::Repeat: return write_repeat(nodes, form, x);
  case WrittenForm::Kind::Stride: return write_stride(nodes, form, x);
  }
  return {};
}

} // namespace tg::onnx
