#include "compiler/import/onnx/write/export_resize.h"

#include "lang/core/resample.h"

#include <llvm/ADT/STLExtras.h>

#include <cmath>
#include <numeric>

namespace tg::onnx {

namespace {

class ResizeWriter {
public:
  ResizeWriter(NodeWriter& nodes, const Graph& graph, NodeId id, Operand x)
      : nodes_(nodes), from_(graph.type(graph.operands(id)[0])), to_(graph.type(id)),
        attrs_(graph.attr_values(id)), resize_(attrs_, from_.shape), x_(std::move(x)) {}

  Operand write() { return is_resize() ? write_node() : write_axes(); }

private:
  const Value& attr(size_t slot) const { return *attrs_[slot]; }
  bool has_scales() const { return !attr(ResizeSlot::Scales).reals.empty(); }

  /// Returns the first opset whose Resize has all options.
  int since() const {
    if (resize_.how.coordinates == ResizeCoordinates::HalfPixelSymmetric) return 19;
    return resize_.how.antialias ? 18 : 11;
  }

  /// Returns true if the sizes that runtimes compute from the scales, as floats rounded
  /// down, are right.
  bool scales_give_sizes() const {
    return llvm::all_of(resize_.axes, [](const ResampledAxis& axis) {
      return std::floor(static_cast<float>(axis.in) * static_cast<float>(axis.scale)) ==
             static_cast<float>(axis.out);
    });
  }

  /// Returns the axis whose size determines the scale of all changed axes, or -1. Sizes rounded
  /// from one scale are those of `keep_aspect_ratio_policy`.
  int64_t deciding_axis() const {
    int64_t found = -1;
    for (size_t i = 0; i < resize_.axes.size(); ++i) {
      const ResampledAxis& axis = resize_.axes[i];
      if (axis.is_kept()) continue;
      if (axis.scale * static_cast<double>(axis.in) == static_cast<double>(axis.out))
        found = static_cast<int64_t>(i);
    }
    for (const ResampledAxis& axis : resize_.axes)
      if (found < 0 || (!axis.is_kept() && axis.scale != resize_.axes[found].scale)) return -1;
    return found;
  }

  bool is_resize() const {
    bool typed = from_.dtype == DType::F32 || from_.dtype == DType::I32;
    if (!typed || nodes_.opset() < since()) return false;
    return !has_scales() || scales_give_sizes() || (nodes_.opset() >= 18 && deciding_axis() >= 0);
  }

  /// Returns numbers for the leading axes, which are kept, and for the others.
  template <class T, class F> std::vector<T> each_axis(T kept, F f) const {
    std::vector<T> numbers(resize_.first_axis, kept);
    for (const ResampledAxis& axis : resize_.axes) numbers.push_back(f(axis));
    return numbers;
  }
  Operand floats(const char* name, llvm::ArrayRef<double> numbers) {
    TensorType type{DType::F32, {static_cast<int64_t>(numbers.size())}};
    return nodes_.tensor(name, type, element_bytes(numbers, DType::F32));
  }

  llvm::SmallVector<Attr, 8> attributes() const {
    const Resampling& how = resize_.how;
    llvm::SmallVector<Attr, 8> attrs = {
        Attr::word("mode", attr(ResizeSlot::Mode).text),
        Attr::word("coordinate_transformation_mode", attr(ResizeSlot::Coordinates).text)};
    if (how.mode == ResizeMode::Nearest)
      attrs.push_back(Attr::word("nearest_mode", attr(ResizeSlot::Rounding).text));
    if (how.mode == ResizeMode::Cubic) attrs.push_back(Attr::real("cubic_coeff_a", how.cubic_a));
    if (how.exclude_outside) attrs.push_back(Attr::whole("exclude_outside", 1));
    if (how.antialias) attrs.push_back(Attr::whole("antialias", 1));
    return attrs;
  }

  Operand region() {
    if (attr(ResizeSlot::Region).reals.empty()) return {};
    auto numbers = each_axis(0.0, [](const ResampledAxis& axis) { return axis.start; });
    auto ends = each_axis(1.0, [](const ResampledAxis& axis) { return axis.end; });
    numbers.insert(numbers.end(), ends.begin(), ends.end());
    return floats("roi", numbers);
  }

  Operand write_node() {
    auto attrs = attributes();
    Operand roi = region();
    if (has_scales() && scales_give_sizes()) {
      auto scales = each_axis(1.0, [](const ResampledAxis& axis) { return axis.scale; });
      return nodes_.node("Resize", {x_, roi, floats("scales", scales)}, x_.dtype, attrs);
    }
    std::vector<int64_t> sizes(to_.shape.begin(), to_.shape.end());
    if (has_scales()) sizes = add_policy(attrs);
    return nodes_.node("Resize", {x_, roi, Operand{}, nodes_.list(sizes)}, x_.dtype, attrs);
  }

  /// Adds sizes of which the deciding axis has the smallest multiple of the old one.
  std::vector<int64_t> add_policy(llvm::SmallVectorImpl<Attr>& attrs) const {
    std::vector<int64_t> axes, sizes;
    int64_t deciding = deciding_axis();
    for (size_t i = 0; i < resize_.axes.size(); ++i) {
      const ResampledAxis& axis = resize_.axes[i];
      if (axis.is_kept()) continue;
      axes.push_back(static_cast<int64_t>(resize_.first_axis + i));
      sizes.push_back(static_cast<int64_t>(i) == deciding ? axis.out : axis.out + 2);
    }
    attrs.push_back(Attr::list("axes", axes));
    attrs.push_back(Attr::word("keep_aspect_ratio_policy", "not_larger"));
    return sizes;
  }

  // --- axis by axis -----------------------------------------------------------------------------

  Operand write_axes() {
    Shape shape = from_.shape;
    for (size_t i = 0; i < resize_.axes.size(); ++i) {
      if (resize_.axes[i].is_kept()) continue;
      AxisTaps taps = axis_taps(resize_.how, resize_.axes[i]);
      size_t axis = resize_.first_axis + i;
      x_ = taps.is_selection() ? gathered(axis, taps) : multiplied(shape, axis, taps);
      shape[axis] = resize_.axes[i].out;
    }
    return x_;
  }

  Operand gathered(size_t axis, const AxisTaps& taps) {
    Operand places = nodes_.list(taps.places);
    return nodes_.node("Gather", {x_, places}, x_.dtype,
                       {Attr::whole("axis", static_cast<int64_t>(axis))});
  }

  /// Writes matrix[out, in] @ x[.., in, inner].
  Operand multiplied(const Shape& shape, size_t axis, const AxisTaps& taps) {
    int64_t in = shape[axis], out = taps.results();
    std::vector<double> matrix(static_cast<size_t>(in * out), 0.0);
    for (int64_t i = 0; i < out; ++i)
      for (int64_t k = taps.first[i]; k < taps.first[i + 1]; ++k)
        matrix[static_cast<size_t>(i * in + taps.places[k])] = taps.weights[k];
    llvm::ArrayRef<int64_t> behind = llvm::ArrayRef<int64_t>(shape).drop_front(axis + 1);
    int64_t inner = std::accumulate(behind.begin(), behind.end(), int64_t{1}, std::multiplies<>());
    Shape result = shape;
    result[axis] = out;
    Operand weights =
        nodes_.tensor("weights", {x_.dtype, {out, in}}, element_bytes(matrix, x_.dtype));
    Operand rows = nodes_.node("Reshape", {x_, nodes_.list({-1, in, inner})}, x_.dtype);
    Operand product = nodes_.node("MatMul", {weights, rows}, x_.dtype);
    return nodes_.node("Reshape", {product, nodes_.list(result)}, x_.dtype);
  }

  NodeWriter& nodes_;
  const TensorType &from_, &to_;
  const llvm::SmallVector<const Value*, 4> attrs_;
  const Resize resize_;
  Operand x_;
};

} // namespace

Operand write_resize(NodeWriter& nodes, const Graph& graph, NodeId id, const Operand& x) {
  return ResizeWriter(nodes, graph, id, x).write();
}

} // namespace tg::onnx
