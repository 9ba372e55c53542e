#include "compiler/import/onnx/read/shared/narrow.h"

#include "compiler/import/onnx/file/elements.h"

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;
using Results = NarrowUse::Results;

constexpr int32_t kUint64 = schema::Tensor::UINT64;

/// Operators that move or compare elements, or whose arithmetic is that of the carrier modulo the
/// size of the type.
constexpr NarrowUse kUses[] = {
    {"Add", Results::Wrapped},          {"BitwiseAnd", Results::Kept},
    {"BitwiseOr", Results::Kept},       {"BitwiseXor", Results::Kept},
    {"Compress", Results::Kept},        {"Concat", Results::Kept},
    {"DepthToSpace", Results::Kept},    {"Div", Results::Wrapped, true},
    {"Equal", Results::Other},          {"Expand", Results::Kept},
    {"Flatten", Results::Kept},         {"Gather", Results::Kept},
    {"GatherElements", Results::Kept},  {"GatherND", Results::Kept},
    {"Greater", Results::Other, true},  {"GreaterOrEqual", Results::Other, true},
    {"Less", Results::Other, true},     {"LessOrEqual", Results::Other, true},
    {"Max", Results::Kept, true},       {"Min", Results::Kept, true},
    {"Mod", Results::Wrapped, true},    {"Mul", Results::Wrapped},
    {"NonZero", Results::Other},        {"ReduceMax", Results::Kept, true},
    {"ReduceMin", Results::Kept, true}, {"Reshape", Results::Kept},
    {"Shape", Results::Other},          {"Size", Results::Other},
    {"Slice", Results::Kept},           {"SpaceToDepth", Results::Kept},
    {"Split", Results::Kept},           {"Squeeze", Results::Kept},
    {"Sub", Results::Wrapped},          {"Tile", Results::Kept},
    {"Transpose", Results::Kept},       {"Unique", Results::FirstKept, true},
    {"Unsqueeze", Results::Kept},       {"Where", Results::Kept},
};

/// Returns half of the uint64 with these bits, rounded down.
NodeId half_of_uint64(Emitter& e, NodeId x) {
  NodeId half = e.div(x, 2);
  return e.select(e.less(x, e.like(x, 0)), e.sub(half, e.like(x, -0x1p63)), half);
}

/// Returns the uint64 with these bits as a float. From 2^63 on it is twice the half, whose lowest
/// bit is set if it decides the rounding of the whole.
NodeId real_of_uint64(Emitter& e, NodeId x, DType to) {
  NodeId half = half_of_uint64(e, x), two = e.like(x, 2);
  NodeId odd = e.op(OpKind::Mod, {x, two}), half_odd = e.op(OpKind::Mod, {half, two});
  NodeId sticky = e.add(half, e.mul(odd, e.sub(e.like(x, 1), half_odd)));
  return e.select(e.less(x, e.like(x, 0)), e.mul(e.cast(sticky, to), 2.0), e.cast(x, to));
}

/// Converts floats to uint64; from 2^63 on, the highest bit is removed first.
NodeId uint64_of_real(Emitter& e, NodeId x) {
  NodeId high = e.op(OpKind::LessEqual, {e.like(x, 0x1p63), x});
  NodeId rest = e.cast(e.sub(x, 0x1p63), DType::I64);
  return e.select(high, e.add(rest, e.like(rest, -0x1p63)), e.cast(x, DType::I64));
}

int bits_of(int32_t element) { return element_type(element)->bits; }

/// Returns the powers of two from 2^0 on, one per bit; the one of the dtype's sign bit is negative.
NodeId powers_of_two(Emitter& e, int bits, DType dtype) {
  Literal made{{dtype, {bits}}, {}, {}};
  for (int k = 0; k < bits; ++k) {
    auto power = static_cast<int64_t>(uint64_t{1} << k);
    made.ints.push_back(dtype == DType::I32 ? static_cast<int32_t>(power) : power);
  }
  return e.literal(made);
}

/// Returns x / 2^k rounded down. Half of x is divided if the dtype lacks the largest power.
NodeId shifted_right(Emitter& e, NodeId x, NodeId k, int bits, bool is_uint64) {
  auto width = static_cast<int>(8 * dtype_size(e.dtype(x)));
  NodeId powers = powers_of_two(e, std::min(bits, width - 1), e.dtype(x));
  if (bits < width) return e.div(x, e.gather(powers, k, 0));
  NodeId none = e.equal(k, e.like(k, 0)), less = e.select(none, k, e.sub(k, 1));
  NodeId half = is_uint64 ? half_of_uint64(e, x) : e.div(x, 2);
  return e.select(none, x, e.div(half, e.gather(powers, less, 0)));
}

} // namespace

NodeId wrapped(Emitter& e, NodeId x, int32_t element) {
  const ElementType& type = *element_type(element);
  DType carrier = carrier_of(element);
  if (e.dtype(x) == DType::Bool) return e.cast(x, carrier);
  if (carrier == DType::I64) x = e.cast(x, DType::I64);
  if (element == kUint64) return x;
  auto size = static_cast<double>(int64_t{1} << type.bits);
  NodeId from = type.is_signed ? e.add(x, size / 2) : x;
  NodeId within = e.op(OpKind::Mod, {from, e.like(from, size)});
  return e.cast(type.is_signed ? e.sub(within, size / 2) : within, carrier);
}

void narrow_result(Call& call, size_t i, NodeId node, int32_t element) {
  if (node.valid()) call.result(i, FileValue::narrow(node, call.emit().type(node), element));
}

/// Truncates floats to integers first, as runtimes do; ONNX leaves out-of-range values undefined.
static void cast_to_narrow(Call& call, NodeId x, int32_t from, int32_t to) {
  Emitter& e = call.emit();
  const ElementType& type = *element_type(to);
  bool in_range = from != 0 && bits_of(from) <= type.bits &&
                  (type.is_signed == element_type(from)->is_signed ||
                   (type.is_signed && bits_of(from) < type.bits));
  if (in_range) return narrow_result(call, 0, e.cast(x, carrier_of(to)), to);
  if (is_float(e.dtype(x)) && to == kUint64)
    return narrow_result(call, 0, uint64_of_real(e, x), to);
  if (is_float(e.dtype(x))) x = e.cast(x, carrier_of(to));
  narrow_result(call, 0, wrapped(e, x, to), to);
}

void cast_to(Call& call, int32_t to) {
  DType carrier = carrier_of(to);
  Result<DType> dtype = carrier == DType::None ? dtype_of(to) : carrier;
  if (!dtype || (carrier != DType::None && bits_of(to) < 8)) {
    call.fail("a cast to ONNX's type " + element_type_name(to) + " is not supported");
    return;
  }
  const FileValue& given = call.value(0);
  if (given.is(Kind::Empty)) {
    FileValue made = FileValue::empty({*dtype, given.type.shape});
    made.element = carrier == DType::None ? 0 : to;
    return call.result(0, std::move(made));
  }
  NodeId x = carried(call, 0);
  int32_t from = narrow_element(call, 0);
  if (!x.valid()) return;
  if (carrier != DType::None) return cast_to_narrow(call, x, from, to);
  bool is_wide = from == kUint64 && is_float(*dtype);
  call.result(is_wide ? real_of_uint64(call.emit(), x, *dtype) : call.emit().cast(x, *dtype));
}

const NarrowUse* narrow_use(llvm::StringRef op) {
  const NarrowUse* found = llvm::find_if(kUses, [&](const NarrowUse& use) { return use.op == op; });
  return found == std::end(kUses) ? nullptr : found;
}

bool carry_inputs(const NarrowUse& use, llvm::ArrayRef<FileValue> inputs,
                  std::vector<FileValue>& carried, int32_t& element) {
  carried.assign(inputs.begin(), inputs.end());
  element = 0;
  for (FileValue& value : carried) {
    if (value.element == 0) continue;
    if ((value.element == kUint64 && use.has_order) || (element != 0 && value.element != element))
      return false;
    element = value.element;
    if (value.is(Kind::Narrow)) value.kind = Kind::Tensor;
    value.element = 0;
  }
  return true;
}

void narrow_results(Emitter& e, const NarrowUse& use, int32_t element,
                    std::vector<FileValue>& results) {
  if (use.results == Results::Other) return;
  for (FileValue& value : results) {
    if (value.is(Kind::Tensor)) {
      NodeId node = use.results == Results::Wrapped ? wrapped(e, value.node, element) : value.node;
      value = FileValue::narrow(node, value.type, element);
    } else if (value.is(Kind::Empty) || value.is(Kind::Padded)) {
      value.element = element;
    }
    if (use.results == Results::FirstKept) return;
  }
}

// --- operators of such integers ------------------------------------------------------------------

/// Shifts by a product or quotient with a power of two. A shift by the width or more, or by a
/// negative number, gives copies of the sign bit for signed right shifts, otherwise 0.
void bit_shift(Call& call) {
  Emitter& e = call.emit();
  NodeId x = carried(call, 0), y = carried(call, 1);
  std::string direction = call.text("direction", "");
  int32_t element = narrow_element(call, 0);
  if (call.failed()) return;
  if (!is_integer(e.dtype(x)) || e.dtype(x) != e.dtype(y) || element != narrow_element(call, 1)) {
    call.fail("it shifts integers by numbers of the same type");
    return;
  }
  if (direction != "LEFT" && direction != "RIGHT") {
    call.fail("its attribute `direction` is `" + direction + "`, but must be LEFT or RIGHT");
    return;
  }
  int bits = element ? bits_of(element) : static_cast<int>(8 * dtype_size(e.dtype(x)));
  NodeId zero = e.like(y, 0);
  NodeId within =
      e.op(OpKind::LogicalAnd, {e.op(OpKind::LessEqual, {zero, y}), e.less(y, e.like(y, bits))});
  NodeId k = e.select(within, y, zero);
  NodeId shifted = direction == "LEFT"
                       ? e.mul(x, e.gather(powers_of_two(e, bits, e.dtype(x)), k, 0))
                       : shifted_right(e, x, k, bits, element == kUint64);
  bool has_sign = element == 0 || element_type(element)->is_signed;
  NodeId none = e.like(x, 0);
  if (has_sign && direction == "RIGHT") none = e.select(e.less(x, none), e.like(x, -1), none);
  NodeId result = e.select(within, shifted, none);
  if (element == 0) return call.result(result);
  narrow_result(call, 0, direction == "LEFT" ? wrapped(e, result, element) : result, element);
}

/// Returns -x - 1 in two's complement; for unsigned types, the largest number minus x.
void bitwise_not(Call& call) {
  Emitter& e = call.emit();
  NodeId x = carried(call, 0);
  NodeId flipped = e.sub(e.neg(x), e.like(x, 1));
  int32_t element = narrow_element(call, 0);
  if (element == 0) return call.result(flipped);
  if (x.valid()) narrow_result(call, 0, wrapped(e, flipped, element), element);
}

namespace {

/// Broadcasts a scale or zero point to the elements of x: one number for all, one along the axis,
/// or one for each block along it. Invalid, and reported, for another shape.
NodeId spread(Call& call, NodeId x, NodeId given, int64_t axis, int64_t block) {
  Emitter& e = call.emit();
  if (!x.valid() || !given.valid()) return {};
  Shape all(e.shape(x).begin(), e.shape(x).end()),
      own(e.shape(given).begin(), e.shape(given).end());
  auto wrong = [&] {
    return call.fail("its scale or zero point " + e.type(given).text() + " does not fit " +
                     e.type(x).text());
  };
  if (block == 0) {
    if (e.type(given).elements() == 1) return e.reshape(given, {});
    if (own.size() != 1 || axis < 0 || axis >= e.rank(x)) return wrong();
    auto place = static_cast<size_t>(axis);
    if (own[0] != all[place]) return wrong();
    Shape line(all.size(), 1);
    line[place] = own[0];
    return e.reshape(given, line);
  }
  if (block < 0 || own.size() != all.size() || axis < 0 || axis >= e.rank(x)) return wrong();
  auto place = static_cast<size_t>(axis);
  int64_t size = all[place], blocks = (size + block - 1) / block;
  Shape expected = all;
  expected[place] = blocks;
  if (own != expected) return wrong();
  Shape column = expected, rows = expected, flat = expected;
  column.insert(column.begin() + axis + 1, 1);
  rows.insert(rows.begin() + axis + 1, block);
  flat[place] = blocks * block;
  NodeId repeated = e.reshape(e.expand(e.reshape(given, column), rows), flat);
  return e.slice(repeated, axis, 0, size);
}

} // namespace

/// Computes (x - zero point) * scale; for scales of two bytes in f32, rounded once.
void dequantize_linear(Call& call) {
  Emitter& e = call.emit();
  NodeId x = carried(call, 0), scale = call.input(1);
  int64_t rank = e.rank(x), given_axis = call.whole("axis", 1), block = call.whole("block_size", 0);
  int64_t axis = given_axis < 0 ? given_axis + rank : given_axis;
  if (call.failed()) return;
  DType to = call.version() >= 23 && call.whole("output_dtype", 0) != 0
                 ? call.dtype("output_dtype", e.dtype(scale))
                 : e.dtype(scale);
  if (narrow_element(call, 0) == kUint64 || !is_integer(e.dtype(x)) || !is_float(e.dtype(scale))) {
    call.fail("it takes integers and a scale of floats");
    return;
  }
  NodeId zero = call.has(2) ? carried(call, 2) : NodeId();
  if (call.has(2) &&
      (e.dtype(zero) != e.dtype(x) || narrow_element(call, 2) != narrow_element(call, 0))) {
    call.fail("its zero point and its first input have different types");
    return;
  }
  DType wide = is_half(e.dtype(scale)) ? DType::F32 : e.dtype(scale);
  NodeId from = call.has(2) ? e.sub(x, spread(call, x, zero, axis, block)) : x;
  NodeId factor = spread(call, x, e.cast(scale, wide), axis, block);
  call.result(e.cast(e.mul(e.cast(from, wide), factor), to));
}

} // namespace tg::onnx
