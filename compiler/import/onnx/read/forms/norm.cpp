// Normalisations in inference mode: by statistics in the file, over rows, over groups of channels,
// over neighbouring channels, and to a sum of one.
#include "compiler/import/onnx/read/call.h"

#include <numeric>

namespace tg::onnx {
namespace {

/// Returns the axes from `first` on.
Shape axes_from(int64_t first, int64_t rank) {
  Shape axes(static_cast<size_t>(std::max<int64_t>(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// Returns rows[.., D] with mean 0 and variance 1 along the last axis.
NodeId standardised(Emitter& emit, NodeId rows, double eps) {
  if (!rows.valid()) return rows;
  TensorType last{emit.dtype(rows), {emit.shape(rows).back()}};
  return emit.layer_norm(rows, emit.filled(1, last), emit.filled(0, last), eps);
}

/// Reads `stash_type`, the type of the statistics; Tangram's have more digits than f32.
void read_stash_type(Call& call) {
  int64_t type = call.whole("stash_type", schema::Tensor::FLOAT);
  bool doubles = type == schema::Tensor::DOUBLE && call.type(0).dtype == DType::F64;
  if (type != schema::Tensor::FLOAT && !doubles)
    call.fail("statistics in types other than float are not supported (`stash_type` " +
              llvm::Twine(type) + ")");
}

// --- batch norm ---------------------------------------------------------------------------------

void batch_normalization(Call& call) {
  Emitter& emit = call.emit();
  ignore(call, "momentum"); // of training
  if (call.version() < 9 && call.whole("spatial", 1) == 0)
    call.fail("statistics of each element are not supported (`spatial` 0)");
  bool training = call.version() >= 14 && flag(call, "training_mode", false);
  for (size_t i = 1; i < call.result_count(); ++i) training |= call.uses_result(i);
  if (training) call.fail("training is not supported");
  llvm::SmallVector<NodeId, 5> operands;
  for (size_t i = 0; i < 5; ++i) operands.push_back(call.input(i));
  double eps = call.real("epsilon", 1e-5);
  if (call.failed()) return;
  DType dtype = emit.dtype(operands[0]);
  bool mixed = false, doubles = false;
  for (NodeId x : operands) {
    mixed |= emit.dtype(x) != dtype;
    doubles |= emit.dtype(x) == DType::F64;
  }
  if (mixed)
    for (NodeId& x : operands) x = emit.cast(x, doubles ? DType::F64 : DType::F32);
  call.result(
      emit.cast(emit.op(OpKind::BatchNorm, operands, {{"eps", Value::of_float(eps)}}), dtype));
}

// --- groups of channels -------------------------------------------------------------------------

/// Returns true if all elements are known to equal `value`: exporters write group normalisation as
/// instance normalisation with a scale of ones.
bool is_filled_with(Emitter& emit, NodeId x, double value) {
  std::optional<Literal> known = emit.known(x);
  return known && !known->is_whole() && !known->reals.empty() &&
         llvm::all_of(known->reals, [&](double y) { return y == value; });
}

/// Normalises x[N, C, ..] over each of `groups` groups of channels and its image, then scales and
/// shifts it by channel or by group (`parts` is the length of the vectors).
NodeId group_norm(Call& call, int64_t groups, int64_t parts) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0), scale = call.input(1), bias = call.input(2);
  double eps = call.real("epsilon", 1e-5);
  if (call.failed()) return {};
  const TensorType type = emit.type(x);
  if (emit.shape(scale) != Ints(parts) || emit.shape(bias) != Ints(parts))
    return call.fail("scale and bias must have " + llvm::Twine(parts) + " elements, got " +
                     emit.type(scale).text() + " and " + emit.type(bias).text());
  int64_t rest = type.elements() / type[0];
  NodeId unit = standardised(emit, emit.reshape(x, {type[0], groups, rest / groups}), eps);
  // By channel, scale and shift broadcast to x itself.
  bool by_channel = parts == type[1];
  Shape by_part = by_channel ? Shape(type.shape) : Shape{type[0], parts, rest / parts};
  Shape vector(by_part.size() - 1, 1);
  vector[0] = parts;
  NodeId made = emit.reshape(unit, by_part);
  if (!is_filled_with(emit, scale, 1)) made = emit.mul(made, emit.reshape(scale, vector));
  if (!is_filled_with(emit, bias, 0)) made = emit.add(made, emit.reshape(bias, vector));
  return emit.reshape(made, type.shape);
}

/// Returns the number of channels; 0 after a failure.
int64_t read_channels(Call& call) {
  NodeId x = call.input(0);
  if (!x.valid()) return 0;
  if (call.emit().rank(x) >= 2) return call.emit().shape(x)[1];
  call.fail("it takes x[N, C, ..], got " + call.emit().type(x).text());
  return 0;
}

void instance_normalization(Call& call) {
  int64_t channels = read_channels(call);
  if (channels > 0) call.result(group_norm(call, channels, channels));
}

void group_normalization(Call& call) {
  int64_t channels = read_channels(call), groups = call.whole("num_groups");
  if (call.version() >= 21) read_stash_type(call);
  if (channels == 0 || call.failed()) return;
  if (groups < 1 || channels % groups != 0) {
    call.fail(llvm::Twine(channels) + " channels cannot be divided into " + llvm::Twine(groups) +
              " groups");
    return;
  }
  call.result(group_norm(call, groups, call.version() >= 21 ? channels : groups));
}

// --- rows ---------------------------------------------------------------------------------------

/// Sets mean and 1 / standard deviation, the further results of LayerNormalization.
void result_of_statistics(Call& call, NodeId x, Ints axes, double eps) {
  Emitter& emit = call.emit();
  if (!call.uses_result(1) && !call.uses_result(2)) return;
  bool half = is_half(emit.dtype(x));
  NodeId wide = half ? emit.cast(x, DType::F32) : x, mean = emit.mean(wide, axes);
  NodeId centred = emit.sub(wide, mean);
  NodeId variance = emit.mean(emit.mul(centred, centred), axes);
  NodeId inverse = emit.unary(OpKind::Rsqrt, emit.add(variance, eps));
  call.result(1, emit.cast(mean, DType::F32));
  call.result(2, emit.cast(inverse, DType::F32));
}

void layer_normalization(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0), scale = call.input(1), bias = call.optional(2);
  double eps = call.real("epsilon", 1e-5);
  int64_t first = call.whole("axis", -1);
  read_stash_type(call);
  if (call.failed()) return;
  const TensorType type = emit.type(x);
  first = call.axis(first, type.rank());
  if (call.failed()) return;
  Ints row = Ints(type.shape).drop_front(static_cast<size_t>(first));
  Shape rows(type.shape.begin(), type.shape.begin() + first);
  rows.push_back(TensorType{type.dtype, Shape(row.begin(), row.end())}.elements());
  NodeId flat = emit.reshape(x, rows);
  result_of_statistics(call, x, axes_from(first, type.rank()), eps);
  bool by_place = emit.shape(scale) == row && (!call.has(2) || emit.shape(bias) == row);
  if (by_place) {
    TensorType last{type.dtype, {rows.back()}};
    bias = call.has(2) ? emit.reshape(bias, last.shape) : emit.filled(0, last);
    NodeId made = emit.layer_norm(flat, emit.reshape(scale, last.shape), bias, eps);
    return call.result(emit.reshape(made, type.shape));
  }
  NodeId made = emit.mul(emit.reshape(standardised(emit, flat, eps), type.shape), scale);
  made = call.has(2) ? emit.add(made, bias) : made;
  if (made.valid() && emit.shape(made) != Ints(type.shape))
    call.fail("its scale and bias do not broadcast to " + type.text());
  call.result(made);
}

/// Computes x / sqrt(mean(x ** 2) + eps) * scale.
void rms_normalization(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0), scale = call.input(1);
  double eps = call.real("epsilon", 1e-5);
  int64_t first = call.whole("axis", -1);
  read_stash_type(call);
  if (call.failed()) return;
  const TensorType type = emit.type(x);
  first = call.axis(first, type.rank());
  if (call.failed()) return;
  bool half = is_half(type.dtype);
  NodeId wide = half ? emit.cast(x, DType::F32) : x;
  NodeId squares = emit.mean(emit.mul(wide, wide), axes_from(first, type.rank()));
  NodeId inverse = emit.unary(OpKind::Rsqrt, emit.add(squares, eps));
  NodeId unit = emit.cast(emit.mul(wide, inverse), emit.dtype(scale));
  NodeId made = emit.mul(unit, scale);
  if (made.valid() && emit.shape(made) != Ints(type.shape))
    call.fail("its scale does not broadcast to " + type.text());
  call.result(made);
  if (call.uses_result(1)) call.result(1, inverse);
}

void mean_variance_normalization(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  Shape axes = call.wholes("axes").value_or(Shape{0, 2, 3});
  if (call.failed()) return;
  axes = call.axes(axes, emit.rank(x));
  NodeId centred = emit.sub(x, emit.mean(x, axes));
  NodeId deviation = emit.unary(OpKind::Sqrt, emit.mean(emit.mul(centred, centred), axes));
  call.result(emit.div(centred, emit.add(deviation, 1e-9)));
}

/// Computes x / norm along an axis; 0 where the norm is 0.
void lp_normalization(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  int64_t p = call.whole("p", 2), given = call.whole("axis", -1);
  if (p != 1 && p != 2) call.fail("its attribute `p` is " + llvm::Twine(p));
  if (call.failed()) return;
  int64_t axis = call.axis(given, emit.rank(x));
  NodeId norm = p == 1 ? emit.sum(emit.unary(OpKind::Abs, x), axis)
                       : emit.unary(OpKind::Sqrt, emit.sum(emit.mul(x, x), axis));
  NodeId is_zero = emit.equal(norm, emit.like(norm, 0));
  call.result(emit.div(x, emit.select(is_zero, emit.like(norm, 1), norm)));
}

// --- neighbouring channels ----------------------------------------------------------------------

/// Returns d to the power of beta, by square roots where possible.
NodeId power(Emitter& emit, NodeId d, double beta) {
  if (beta == 1) return d;
  NodeId root = emit.unary(OpKind::Sqrt, d);
  if (beta == 0.5) return root;
  if (beta == 0.75) return emit.mul(root, emit.unary(OpKind::Sqrt, root));
  return emit.op(OpKind::Pow, {d, emit.like(d, beta)});
}

/// Computes x / (bias + alpha * mean of the squares of `size` channels) ** beta. The mean is a pool
/// along the channels; channels out of range count as zeros.
void lrn(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  int64_t size = call.whole("size");
  double alpha = call.real("alpha", 1e-4), beta = call.real("beta", 0.75),
         bias = call.real("bias", 1);
  if (read_channels(call) == 0) return;
  if (size < 1 || size > kMostKnown) call.fail("its attribute `size` is " + llvm::Twine(size));
  if (call.failed()) return;
  const TensorType type = emit.type(x);
  Shape image = {type[0], 1, type[1], type.elements() / type[0] / type[1]};
  NodeId squares = emit.reshape(emit.mul(x, x), image);
  NodeId means = emit.op(OpKind::AvgPool2d, {squares},
                         {{"kernel", Value::of_ints({size, 1})},
                          {"pad", Value::of_ints({(size - 1) / 2, 0, size / 2, 0})},
                          {"count_padding", Value::of_bool(true)}});
  NodeId divisor = emit.add(emit.mul(emit.reshape(means, type.shape), alpha), bias);
  call.result(emit.div(x, power(emit, divisor, beta)));
}

// --- to a sum of one ----------------------------------------------------------------------------

/// The axis of a softmax, and x in its shape: up to opset 12 all axes from the given one on are
/// merged.
struct Rows {
  NodeId x;
  int64_t axis = 0;
};

Rows read_rows(Call& call) {
  Emitter& emit = call.emit();
  bool flat = call.version() < 13;
  NodeId x = call.input(0);
  int64_t given = call.whole("axis", flat ? 1 : -1);
  if (call.failed()) return {};
  int64_t rank = emit.rank(x);
  if (flat && given == rank) return {emit.reshape(x, {emit.type(x).elements(), 1}), 1};
  int64_t axis = call.axis(given, rank);
  if (call.failed() || !flat || axis == rank - 1) return {x, axis};
  int64_t rows = 1;
  for (int64_t size : emit.shape(x).take_front(static_cast<size_t>(axis))) rows *= size;
  return {emit.reshape(x, {rows, emit.type(x).elements() / rows}), 1};
}

/// Sets the result computed from the rows.
void result_of_rows(Call& call, NodeId made) {
  if (!call.failed()) call.result(call.emit().reshape(made, call.emit().shape(call.input(0))));
}

void softmax(Call& call) {
  Rows rows = read_rows(call);
  if (!call.failed()) result_of_rows(call, call.emit().softmax(rows.x, rows.axis));
}

void log_softmax(Call& call) {
  Rows rows = read_rows(call);
  if (!call.failed()) result_of_rows(call, call.emit().log_softmax(rows.x, rows.axis));
}

/// 1 at the first largest element, else 0.
void hardmax(Call& call) {
  Emitter& emit = call.emit();
  Rows rows = read_rows(call);
  if (call.failed()) return;
  NodeId largest =
      emit.op(OpKind::Argmax, {rows.x},
              {{"axis", Value::of_int(rows.axis)}, {"keepdims", Value::of_bool(true)}});
  TensorType places{DType::I64, Shape(static_cast<size_t>(emit.rank(rows.x)), 1)};
  auto axis = static_cast<size_t>(rows.axis);
  places.shape[axis] = emit.shape(rows.x)[axis];
  NodeId made = emit.cast(emit.equal(emit.iota(places, rows.axis), largest), emit.dtype(rows.x));
  result_of_rows(call, made);
}

// --- dropout ------------------------------------------------------------------------------------

void dropout(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  bool by_inputs = call.version() >= 12;
  ignore(call, by_inputs ? "seed" : "ratio");
  bool training = by_inputs && call.has(2) && call.known_whole(2) != 0;
  if (training && !call.failed() && !(call.has(1) && call.known_real(1) == 0))
    call.fail("training is not supported: it drops elements at random");
  (void)call.value(1);
  if (call.failed()) return;
  call.result(x);
  DType mask = call.version() < 10 ? emit.dtype(x) : DType::Bool;
  if (call.uses_result(1)) call.result(1, emit.filled(1, {mask, emit.type(x).shape}));
}

} // namespace

llvm::ArrayRef<Form> norm_forms() {
  static constexpr Form kForms[] = {
      {"BatchNormalization", batch_normalization},
      {"Dropout", dropout},
      {"GroupNormalization", group_normalization},
      {"Hardmax", hardmax},
      {"InstanceNormalization", instance_normalization},
      {"LRN", lrn},
      {"LayerNormalization", layer_normalization},
      {"LogSoftmax", log_softmax},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
      {"RMSNormalization", rms_normalization},
      {"SimplifiedLayerNormalization", rms_normalization},
      {"Softmax", softmax},
  };
  return kForms;
}

} // namespace tg::onnx
