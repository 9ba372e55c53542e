#include "lang/core/resample.h"
#include "runtime/cuda/codegen/plan_edit.h"

namespace tg::cuda {

namespace {

/// A resize with more taps becomes a product with the matrix of their weights.
constexpr int64_t kMostGathers = 4;

/// Emits the steps of one resize between its operand and its result.
class ResizeSteps : Expansion {
public:
  using Expansion::Expansion;

  void emit_all() {
    llvm::SmallVector<const Value*, ResizeSlot::Count> attrs;
    for (const Value& value : replaced().attrs) attrs.push_back(&value);
    Resize resize(attrs, type(replaced().operands[0]).shape);
    PlanValueId x = replaced().operands[0];
    for (size_t i = 0; i < resize.axes.size(); ++i)
      if (!resize.axes[i].is_kept())
        x = resampled(x, resize.first_axis + i, axis_taps(resize.how, resize.axes[i]));
    emit(OpKind::Identity, {}, {x}, replaced().result);
  }

private:
  PlanValueId resampled(PlanValueId x, size_t axis, const AxisTaps& taps) {
    if (taps.is_selection()) return gathered(x, axis, taps.places);
    return taps.most() <= kMostGathers ? summed(x, axis, taps) : multiplied(x, axis, taps);
  }

  PlanValueId gathered(PlanValueId x, size_t axis, const std::vector<int64_t>& places) {
    TensorType result = type(x);
    result.shape[axis] = static_cast<int64_t>(places.size());
    PlanValueId indices = edit().constant({DType::I64, {result.shape[axis]}},
                                          std::vector<double>(places.begin(), places.end()));
    return step(OpKind::Gather, {Value::of_int(static_cast<int64_t>(axis))}, {x, indices}, result);
  }

  PlanValueId summed(PlanValueId x, size_t axis, const AxisTaps& uneven) {
    AxisTaps taps = even_taps(uneven);
    TensorType result = type(x), along{result.dtype, Shape(result.shape.size() - axis, 1)};
    result.shape[axis] = along.shape[0] = taps.results();
    PlanValueId sum = kNoValue;
    auto count = static_cast<size_t>(taps.most());
    for (size_t t = 0; t < count; ++t) {
      std::vector<int64_t> places;
      std::vector<double> weights;
      for (size_t k = t; k < taps.places.size(); k += count) {
        places.push_back(taps.places[k]);
        weights.push_back(taps.weights[k]);
      }
      PlanValueId weight = edit().constant(along, std::move(weights));
      PlanValueId term = step(OpKind::Mul, {}, {gathered(x, axis, places), weight}, result);
      sum = sum == kNoValue ? term : step(OpKind::Add, {}, {sum, term}, result);
    }
    return sum;
  }

  /// Computes matrix[out, in] @ x[outer, in, inner].
  PlanValueId multiplied(PlanValueId x, size_t axis, const AxisTaps& taps) {
    TensorType from = type(x), result = from;
    result.shape[axis] = taps.results();
    int64_t in = from[axis], out = taps.results(), outer = 1;
    for (size_t i = 0; i < axis; ++i) outer *= from[i];
    int64_t inner = from.elements() / (outer * in);
    std::vector<double> matrix(static_cast<size_t>(in * out));
    for (int64_t i = 0; i < out; ++i)
      for (auto k = static_cast<size_t>(taps.first[static_cast<size_t>(i)]);
           k < static_cast<size_t>(taps.first[static_cast<size_t>(i) + 1]); ++k)
        matrix[static_cast<size_t>(i * in + taps.places[k])] = taps.weights[k];
    PlanValueId weights = edit().constant({from.dtype, {out, in}}, std::move(matrix));
    PlanValueId rows = reshaped(x, {from.dtype, {outer, in, inner}});
    PlanValueId product =
        step(OpKind::Matmul, {Value::of_enum("none")}, {weights, rows, kNoValue, kNoValue},
             {from.dtype, {outer, out, inner}});
    return reshaped(product, result);
  }

  PlanValueId reshaped(PlanValueId x, const TensorType& result) {
    return step(OpKind::Reshape, {Value::of_ints(result.shape)}, {x}, result);
  }
};

} // namespace

void emit_resize(PlanEdit& edit, const PlanStep& resize, PlanStepId origin) {
  ResizeSteps(edit, resize, origin).emit_all();
}

} // namespace tg::cuda
