// Sums, means, extremes and products along axes; indices of extremes; running sums.
#include "compiler/import/onnx/read/call.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

/// The operand and the axes of a reduction, in any version's form.
struct Reduction {
  NodeId x;
  Shape axes;
  bool keepdims = true;
  bool nothing = false; // no axis is reduced: the result is x
  NodeId count;         // number of rows that data selects, along a reduced axis; otherwise invalid
};

/// Converts a number, which may be infinite, to an integer of the dtype.
int64_t whole_end(DType dtype, double x) {
  if (!std::isinf(x)) return static_cast<int64_t>(x);
  if (dtype == DType::Bool) return x > 0;
  bool wide = dtype == DType::I64;
  return x > 0 ? (wide ? INT64_MAX : INT32_MAX) : (wide ? INT64_MIN : INT32_MIN);
}

/// Replaces the padding of rows that data selects by the neutral element.
NodeId neutral_rows(Emitter& e, const FileValue& rows, double neutral) {
  Shape line(static_cast<size_t>(e.rank(rows.node)), 1);
  line[static_cast<size_t>(rows.axis)] = e.size(rows.node, rows.axis);
  NodeId there = e.less(e.iota({DType::I64, line}, rows.axis), rows.count);
  DType dtype = e.dtype(rows.node);
  NodeId none = is_float(dtype) ? e.scalar(neutral, dtype)
                                : e.literal({{dtype, {}}, {whole_end(dtype, neutral)}, {}});
  return e.select(there, rows.node, none);
}

/// Reads a reduction. Axes are an attribute before opset 18 (13 for ReduceSum), then an input. Rows
/// that data selects are supported only for reductions with a neutral element.
Reduction reduction(Call& call, std::optional<double> neutral = std::nullopt) {
  Reduction r;
  r.keepdims = flag(call, "keepdims", true);
  int since = call.op() == "ReduceSum" ? 13 : 18;
  std::optional<Shape> given;
  bool listed = true;
  if (call.version() < since) {
    given = call.wholes("axes");
  } else {
    listed = call.has(1);
    if (listed) given = call.known_wholes(1);
    bool noop = flag(call, "noop_with_empty_axes", false);
    r.nothing = noop && (!given || given->empty());
  }
  const FileValue& given_rows = call.value(0);
  bool is_padded = neutral && given_rows.is(Kind::Padded) && given_rows.count.valid();
  r.x = is_padded ? neutral_rows(call.emit(), given_rows, *neutral) : call.input(0);
  if (!r.x.valid()) return r;
  int64_t rank = call.emit().rank(r.x);
  if (given && !given->empty()) {
    r.axes = call.axes(*given, rank);
  } else {
    r.axes.resize(static_cast<size_t>(rank));
    std::iota(r.axes.begin(), r.axes.end(), 0);
  }
  llvm::sort(r.axes);
  if (is_padded) r.count = given_rows.count;
  if (is_padded && (r.nothing || !llvm::is_contained(r.axes, given_rows.axis)))
    r.x = call.fail("its input 1 has a number of rows that depends on data");
  return r;
}

NodeId reduced(Emitter& e, const Reduction& r, NodeId x, OpKind kind) {
  return r.nothing || r.axes.empty() ? x : e.reduce(kind, x, r.axes, r.keepdims);
}

NodeId reduced(Emitter& e, const Reduction& r, NodeId x, llvm::StringRef name) {
  if (r.nothing || r.axes.empty()) return x;
  return e.named(name, {x},
                 {{"axes", Value::of_ints(r.axes)}, {"keepdims", Value::of_bool(r.keepdims)}});
}

/// Sets the reduction of no elements: the neutral element everywhere; if that is infinite and the
/// dtype integer, the end of its range.
bool reduce_nothing(Call& call, double neutral) {
  if (!call.value(0).is(Kind::Empty)) return false;
  TensorType type = call.type(0);
  bool keepdims = flag(call, "keepdims", true);
  Shape axes;
  if (call.has(1)) axes = call.axes(call.known_wholes(1), type.rank());
  if (std::optional<Shape> given = call.wholes("axes")) axes = call.axes(*given, type.rank());
  ignore(call, "noop_with_empty_axes");
  Shape to;
  for (int64_t i = 0; i < type.rank(); ++i) {
    bool gone = axes.empty() || llvm::is_contained(axes, i);
    if (!gone) to.push_back(type[static_cast<size_t>(i)]);
    if (gone && keepdims) to.push_back(1);
  }
  if (llvm::is_contained(to, 0))
    call.result(0, FileValue::empty({type.dtype, to}));
  else if (is_float(type.dtype))
    call.result(call.emit().filled(neutral, {type.dtype, to}));
  else
    call.result(call.emit().literal({{type.dtype, to}, {whole_end(type.dtype, neutral)}, {}}));
  return true;
}

void reduce_sum(Call& call) {
  if (reduce_nothing(call, 0)) return;
  Reduction r = reduction(call, 0);
  call.result(reduced(call.emit(), r, r.x, OpKind::ReduceSum));
}

/// Returns the mean of integers, rounded towards zero, without overflow: x = (x / count) * count +
/// x % count, and both parts are summed separately.
NodeId whole_mean(Emitter& e, const Reduction& r) {
  int64_t count = 1;
  for (int64_t axis : r.axes) count *= e.shape(r.x)[static_cast<size_t>(axis)];
  if (count == 1) return reduced(e, r, r.x, OpKind::ReduceSum);
  NodeId x = e.cast(r.x, DType::I64), by = e.literal({{DType::I64, {}}, {count}, {}});
  NodeId parts = reduced(e, r, e.op(OpKind::Mod, {x, by}), OpKind::ReduceSum);
  NodeId wholes = reduced(e, r, e.div(x, by), OpKind::ReduceSum);
  NodeId mean = e.add(wholes, e.div(parts, by)), zero = e.like(x, 0); // rounded down
  NodeId some = e.op(OpKind::NotEqual, {e.op(OpKind::Mod, {parts, by}), zero});
  NodeId up = e.op(OpKind::LogicalAnd, {e.less(mean, zero), some});
  return e.cast(e.add(mean, e.cast(up, DType::I64)), e.dtype(r.x));
}

/// Returns the mean of rows that data selects: NaN if there are none.
NodeId open_mean(Emitter& e, const Reduction& r, int64_t axis) {
  int64_t others = 1;
  for (int64_t each : r.axes)
    if (each != axis) others *= e.size(r.x, each);
  NodeId count = e.mul(e.cast(r.count, e.dtype(r.x)), static_cast<double>(others));
  return e.div(reduced(e, r, r.x, OpKind::ReduceSum), count);
}

void reduce_mean(Call& call) {
  Reduction r = reduction(call, 0);
  Emitter& e = call.emit();
  if (!r.x.valid()) return;
  if (r.count.valid() && is_float(e.dtype(r.x)))
    return call.result(open_mean(e, r, call.value(0).axis));
  if (r.count.valid()) {
    call.fail("the mean of integers is not supported if their number depends on data");
    return;
  }
  bool whole = is_integer(e.dtype(r.x)) && !r.nothing;
  call.result(whole ? whole_mean(e, r) : reduced(e, r, r.x, OpKind::ReduceMean));
}

/// For bools: any and all.
void reduce_max(Call& call) {
  double least = -std::numeric_limits<double>::infinity();
  if (reduce_nothing(call, least)) return;
  Reduction r = reduction(call, least);
  Emitter& e = call.emit();
  if (!r.x.valid()) return;
  bool logical = e.dtype(r.x) == DType::Bool;
  NodeId x = logical ? e.cast(r.x, DType::I32) : r.x;
  NodeId most = reduced(e, r, x, OpKind::ReduceMax);
  call.result(logical ? e.cast(most, DType::Bool) : most);
}

void reduce_min(Call& call) {
  double most = std::numeric_limits<double>::infinity();
  if (reduce_nothing(call, most)) return;
  Reduction r = reduction(call, most);
  Emitter& e = call.emit();
  if (!r.x.valid()) return;
  bool logical = e.dtype(r.x) == DType::Bool;
  NodeId x = logical ? e.cast(r.x, DType::I32) : r.x;
  NodeId least = reduced(e, r, x, "reduce_min");
  call.result(logical ? e.cast(least, DType::Bool) : least);
}

void reduce_prod(Call& call) {
  if (reduce_nothing(call, 1)) return;
  Reduction r = reduction(call);
  call.result(reduced(call.emit(), r, r.x, "reduce_prod"));
}

void reduce_l1(Call& call) {
  if (reduce_nothing(call, 0)) return;
  Reduction r = reduction(call);
  Emitter& e = call.emit();
  call.result(reduced(e, r, e.unary(OpKind::Abs, r.x), OpKind::ReduceSum));
}

NodeId square_sum(Call& call) {
  Reduction r = reduction(call);
  Emitter& e = call.emit();
  return reduced(e, r, e.mul(r.x, r.x), OpKind::ReduceSum);
}

void reduce_sum_square(Call& call) {
  if (!reduce_nothing(call, 0)) call.result(square_sum(call));
}

/// Returns the square root of integers, rounded down. The root of the nearest double is off
/// by at most 1.
NodeId whole_root(Emitter& e, NodeId x) {
  DType dtype = e.dtype(x);
  NodeId real = e.unary(OpKind::Sqrt, e.cast(x, DType::F64));
  NodeId root = e.cast(real, DType::I64), wide = e.cast(x, DType::I64);
  NodeId above = e.less(wide, e.mul(root, root));
  root = e.sub(root, e.cast(above, DType::I64));
  NodeId next = e.add(root, 1);
  NodeId below = e.op(OpKind::LessEqual, {e.mul(next, next), wide});
  return e.cast(e.add(root, e.cast(below, DType::I64)), dtype);
}

void reduce_l2(Call& call) {
  if (reduce_nothing(call, 0)) return;
  Emitter& e = call.emit();
  NodeId sum = square_sum(call);
  if (!sum.valid()) return;
  DType dtype = e.dtype(sum);
  if (is_float(dtype)) return call.result(e.unary(OpKind::Sqrt, sum));
  call.result(whole_root(e, sum));
}

void reduce_log_sum(Call& call) {
  if (reduce_nothing(call, -std::numeric_limits<double>::infinity())) return;
  Reduction r = reduction(call);
  Emitter& e = call.emit();
  call.result(e.unary(OpKind::Log, reduced(e, r, r.x, OpKind::ReduceSum)));
}

/// Avoids overflow by subtracting the maximum first, if it is finite.
void reduce_log_sum_exp(Call& call) {
  if (reduce_nothing(call, -std::numeric_limits<double>::infinity())) return;
  Reduction r = reduction(call);
  Emitter& e = call.emit();
  if (!r.x.valid()) return;
  if (r.nothing || r.axes.empty()) return call.result(r.x);
  NodeId most = e.reduce(OpKind::ReduceMax, r.x, r.axes, true);
  NodeId infinite =
      e.equal(e.unary(OpKind::Abs, most), e.like(most, std::numeric_limits<double>::infinity()));
  NodeId shift = e.select(infinite, e.like(most, 0), most);
  NodeId sum = e.sum(e.unary(OpKind::Exp, e.sub(r.x, shift)), r.axes);
  NodeId value = e.add(e.unary(OpKind::Log, sum), shift);
  if (r.keepdims || !value.valid()) return call.result(value);
  Shape to;
  for (int64_t i = 0; i < e.rank(value); ++i)
    if (!llvm::is_contained(r.axes, i)) to.push_back(e.shape(value)[static_cast<size_t>(i)]);
  call.result(e.reshape(value, to));
}

// --- indices -------------------------------------------------------------------------------------

/// Returns the first of equal elements, or with `select_last_index` the last, by reversing the
/// axis.
void arg_extreme(Call& call, bool largest) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  if (!x.valid()) return;
  int64_t axis = call.axis(call.whole("axis", 0), e.rank(x));
  bool keepdims = flag(call, "keepdims", true), last = flag(call, "select_last_index", false);
  int64_t size = e.shape(x)[static_cast<size_t>(axis)];
  if (last) x = e.reverse(x, axis);
  if (!largest) x = is_float(e.dtype(x)) ? e.neg(x) : e.sub(e.like(x, -1), x); // -x might wrap
  NodeId place = e.op(OpKind::Argmax, {x},
                      {{"axis", Value::of_int(axis)}, {"keepdims", Value::of_bool(keepdims)}});
  if (last) place = e.sub(e.like(place, static_cast<double>(size - 1)), place);
  call.result(place);
}
void arg_max(Call& call) { arg_extreme(call, true); }
void arg_min(Call& call) { arg_extreme(call, false); }

// --- running -------------------------------------------------------------------------------------

/// Computes the first element, the first two joined, and so on, along an axis; `nothing` is the
/// value before the first.
template <class Join> void running(Call& call, int64_t nothing, Join join) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  int64_t given = call.known_whole(1);
  if (call.failed()) return;
  int64_t axis = call.axis(given, e.rank(x));
  bool exclusive = flag(call, "exclusive", false), reverse = flag(call, "reverse", false);
  if (reverse) x = e.reverse(x, axis);
  int64_t size = e.shape(x)[static_cast<size_t>(axis)];
  if (exclusive) { // shifted by one position
    Shape before(static_cast<size_t>(e.rank(x)), 0), after = before;
    before[static_cast<size_t>(axis)] = 1;
    x = e.slice(e.pad(x, before, after, Value::of_int(nothing)), axis, 0, size);
  }
  NodeId made = join(x, axis);
  call.result(reverse ? e.reverse(made, axis) : made);
}

void cum_sum(Call& call) {
  running(call, 0, [&](NodeId x, int64_t axis) {
    return call.emit().op(OpKind::Cumsum, {x}, {{"axis", Value::of_int(axis)}});
  });
}

/// Computes running products from a table of all pairs of positions.
void cum_prod(Call& call) {
  running(call, 1, [&](NodeId x, int64_t axis) -> NodeId {
    constexpr int64_t kMostPairs = int64_t{1} << 24;
    Emitter& e = call.emit();
    if (!x.valid()) return x;
    int64_t size = e.shape(x)[static_cast<size_t>(axis)];
    if (e.type(x).elements() > kMostPairs / size)
      return call.fail("an axis of " + llvm::Twine(size) + " in " + e.type(x).text() +
                       " is too long for a running product");
    TensorType pairs{DType::I64, Shape(static_cast<size_t>(e.rank(x) + 1), 1)};
    pairs.shape[static_cast<size_t>(axis)] = pairs.shape[static_cast<size_t>(axis) + 1] = size;
    NodeId counts = e.op(OpKind::LessEqual, {e.iota(pairs, axis), e.iota(pairs, axis + 1)});
    NodeId factors = e.select(counts, e.unsqueeze(x, axis + 1), e.like(x, 1));
    return e.reduce(OpKind::ReduceProd, factors, {axis}, false);
  });
}

} // namespace

llvm::ArrayRef<Form> reduction_forms() {
  static constexpr Form kForms[] = {
      {"ArgMax", arg_max},
      {"ArgMin", arg_min},
      {"CumProd", cum_prod},
      {"CumSum", cum_sum},
      {"ReduceL1", reduce_l1},
      {"ReduceL2", reduce_l2},
      {"ReduceLogSum", reduce_log_sum},
      {"ReduceLogSumExp", reduce_log_sum_exp},
      {"ReduceMax", reduce_max},
      {"ReduceMean", reduce_mean},
      {"ReduceMin", reduce_min},
      {"ReduceProd", reduce_prod},
      {"ReduceSum", reduce_sum},
      {"ReduceSumSquare", reduce_sum_square},
  };
  return kForms;
}

} // namespace tg::onnx
