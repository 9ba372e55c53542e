// Element-by-element operators: arithmetic, comparisons, logic, activations, casts.
#include "compiler/import/onnx/read/call.h"

#include "compiler/import/onnx/read/shared/attention_mask.h"
#include "compiler/import/onnx/read/shared/narrow.h"
#include "lang/core/shape_rules.h"

#include <cmath>
#include <limits>

namespace tg::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- one operator of ours ------------------------------------------------------------------------

/// If one of the first operands has no elements, sets an empty result and returns true.
bool maps_nothing(Call& call, OpKind op, size_t operands) {
  bool nothing = false;
  for (size_t i = 0; i < operands; ++i) nothing |= call.value(i).is(FileValue::Kind::Empty);
  if (!nothing) return false;
  TensorType type = call.type(0);
  for (size_t i = 1; i < operands; ++i) {
    Shape shape;
    if (!broadcast_shapes(type.shape, call.type(i).shape, shape))
      call.fail(type.text() + " and " + call.type(i).text() + " do not broadcast");
    type.shape = std::move(shape);
  }
  if (op_info(op).shape == ShapeRule::compare) type.dtype = DType::Bool;
  call.result(0, FileValue::empty(type));
  return true;
}

template <OpKind op> void one(Call& call) {
  if (!maps_nothing(call, op, 1)) call.result(call.emit().op(op, {call.input(0)}));
}

/// Returns the second operand for opsets before 7: if it broadcasts, its axes are those of the
/// first from `axis` on, or the last ones. Later opsets broadcast like NumPy.
NodeId second(Call& call) {
  Emitter& e = call.emit();
  NodeId y = call.input(1);
  if (call.version() >= 7 || !flag(call, "broadcast", false) || !call.attribute("axis")) return y;
  int64_t rank = e.rank(call.input(0)), axis = call.axis(call.whole("axis", 0), rank);
  Shape shape(e.shape(y).begin(), e.shape(y).end());
  if (axis + static_cast<int64_t>(shape.size()) > rank)
    return call.fail("its second input has too many axes after its `axis`");
  shape.resize(static_cast<size_t>(rank - axis), 1);
  return e.reshape(y, shape);
}

template <OpKind op> void two(Call& call) {
  if (!maps_nothing(call, op, 2)) call.result(call.emit().op(op, {call.input(0), second(call)}));
}

void sum(Call& call) {
  if (maps_nothing(call, OpKind::Add, 2)) return;
  Emitter& e = call.emit();
  NodeId x = call.input(0), y = second(call);
  if (NodeId kept = sum_with_zero_mask(e, x, y); kept.valid()) return call.result(kept);
  call.result(e.op(OpKind::Add, {x, y}));
}

void greater(Call& call) { call.result(call.emit().less(second(call), call.input(0))); }
void greater_or_equal(Call& call) {
  call.result(call.emit().op(OpKind::LessEqual, {call.input(1), call.input(0)}));
}
void logical_xor(Call& call) {
  call.result(call.emit().op(OpKind::NotEqual, {call.input(0), second(call)}));
}

/// Sum, Max, Min and Mean of any number of operands.
template <OpKind op> NodeId all_of(Call& call) {
  NodeId value = call.input(0);
  for (size_t i = 1; i < call.input_count(); ++i)
    value = call.emit().op(op, {value, call.input(i)});
  return value;
}
template <OpKind op> void many(Call& call) { call.result(all_of<op>(call)); }
void mean(Call& call) {
  call.result(call.emit().div(all_of<OpKind::Add>(call), static_cast<double>(call.input_count())));
}

// --- arithmetic ----------------------------------------------------------------------------------

/// Returns where the remainder of integers, which has the sign of y, is not 0 and x has another
/// sign: there x / y rounded down and x / y rounded towards zero differ by 1.
NodeId rounds_apart(Emitter& e, NodeId x, NodeId y, NodeId remainder) {
  NodeId some = e.op(OpKind::NotEqual, {remainder, e.like(x, 0)});
  NodeId signs = e.op(OpKind::NotEqual, {e.less(x, e.like(x, 0)), e.less(y, e.like(y, 0))});
  return e.op(OpKind::LogicalAnd, {some, signs});
}

/// ONNX's quotient of integers is rounded towards zero, ours down.
NodeId quotient(Emitter& e, NodeId x, NodeId y) {
  if (!x.valid() || !y.valid() || !is_integer(e.dtype(x))) return e.div(x, y);
  auto is_positive = [&](NodeId v) {
    std::optional<Literal> known = e.known(v);
    return known ? llvm::all_of(known->ints, [](int64_t n) { return n >= 0; })
                 : e.never_negative(v);
  };
  if (is_positive(x) && is_positive(y)) return e.div(x, y);
  NodeId apart = rounds_apart(e, x, y, e.op(OpKind::Mod, {x, y}));
  return e.add(e.div(x, y), e.cast(apart, e.dtype(x)));
}

void div(Call& call) { call.result(quotient(call.emit(), call.input(0), second(call))); }

/// fmod = 1 has the sign of x. For floats it is exact as the remainder of absolute values.
void mod(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), y = call.input(1);
  if (!flag(call, "fmod", false)) {
    call.result(e.op(OpKind::Mod, {x, y}));
    return;
  }
  if (x.valid() && y.valid() && is_integer(e.dtype(x))) {
    NodeId remainder = e.op(OpKind::Mod, {x, y});
    NodeId apart = rounds_apart(e, x, y, remainder);
    return call.result(e.select(apart, e.sub(remainder, y), remainder));
  }
  NodeId size = e.op(OpKind::Mod, {e.unary(OpKind::Abs, x), e.unary(OpKind::Abs, y)});
  NodeId negative = e.less(x, e.like(x, 0));
  call.result(e.select(negative, e.neg(size), size));
}

/// Returns x to a known non-negative power, by squaring.
NodeId known_power(Emitter& e, NodeId x, uint64_t exponent) {
  NodeId result, square = x;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result.valid() ? e.mul(result, square) : square;
    if (exponent > 1) square = e.mul(square, square);
  }
  return result.valid() ? result : e.expand(e.like(x, 1), e.shape(x));
}

/// Integers to the power of integers: exact except for wrapping. Computed by squaring, one bit of
/// the exponent at a time. A negative power gives 0, except for 1 and -1.
NodeId whole_power(Emitter& e, NodeId x, NodeId y) {
  std::optional<Literal> known = e.known(y);
  uint64_t largest = static_cast<uint64_t>(e.dtype(y) == DType::I32 ? INT32_MAX : INT64_MAX);
  if (known) {
    largest = 1;
    for (int64_t n : known->ints)
      largest = std::max(largest, static_cast<uint64_t>(std::max<int64_t>(n, 0)));
  }
  auto odd = [&](NodeId n) {
    return e.op(OpKind::NotEqual, {e.op(OpKind::Mod, {n, e.like(n, 2)}), e.like(n, 0)});
  };
  NodeId result = e.select(odd(y), x, e.like(x, 1)), square = x, bits = y;
  NodeId one = e.op(OpKind::LogicalOr, {e.equal(x, e.like(x, 1)), e.equal(x, e.like(x, -1))});
  NodeId inverse = e.select(one, result, e.like(x, 0));
  while (largest >>= 1) {
    square = e.mul(square, square), bits = e.div(bits, 2);
    result = e.mul(result, e.select(odd(bits), square, e.like(x, 1)));
  }
  return e.select(e.less(y, e.like(y, 0)), inverse, result);
}

/// The exponent may have another type. Small integer powers become products, as exporters intend.
void pow(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), y = second(call);
  if (call.failed()) return;
  std::optional<Literal> known = e.known(y);
  if (known && known->type.elements() == 1 && e.rank(y) <= e.rank(x)) {
    double power = known->is_whole() ? static_cast<double>(known->ints[0]) : known->reals[0];
    NodeId square = power == 2 || power == 3 ? e.mul(x, x) : NodeId();
    if (power == 1) return call.result(x);
    if (power == 2) return call.result(square);
    if (power == 3) return call.result(e.mul(square, x));
    if (power == 0.5 && is_float(e.dtype(x))) return call.result(e.unary(OpKind::Sqrt, x));
    bool whole = power >= 0 && power < 0x1p63 && power == std::floor(power);
    if (is_integer(e.dtype(x)) && whole)
      return call.result(known_power(
          e, x, static_cast<uint64_t>(known->is_whole() ? known->ints[0] : int64_t(power))));
  }
  DType of = e.dtype(x);
  if (is_float(of)) return call.result(e.op(OpKind::Pow, {x, e.cast(y, of)}));
  if (is_integer(e.dtype(y))) return call.result(whole_power(e, x, y));
  NodeId real = e.op(OpKind::Pow, {e.cast(x, DType::F64), e.cast(y, DType::F64)});
  call.result(e.cast(real, of)); // rounds towards zero
}

void reciprocal(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  call.result(e.div(e.like(x, 1), x));
}

#define TG_NAMED(word)                                                                             \
  void word(Call& call) { call.result(call.emit().named(#word, {call.input(0)})); }
TG_NAMED(ceil)
TG_NAMED(round)
TG_NAMED(tan)
TG_NAMED(asin)
TG_NAMED(acos)
TG_NAMED(atan)
TG_NAMED(sinh)
TG_NAMED(cosh)
TG_NAMED(asinh)
TG_NAMED(acosh)
TG_NAMED(atanh)
#undef TG_NAMED

// --- bits ----------------------------------------------------------------------------------------

/// The bits of integers along a new last axis, lowest first: floor(x / 2^k) mod 2, and the sign
/// last. Quotients round down, so these are the bits of two's complement.
class Bits {
public:
  Bits(Emitter& emit, DType dtype)
      : emit_(emit), dtype_(dtype), count_(dtype == DType::I64 ? 64 : 32) {}

  NodeId of(NodeId x) {
    NodeId column = emit_.unsqueeze(x, emit_.rank(x));
    NodeId low =
        emit_.op(OpKind::Mod, {emit_.div(column, powers(count_ - 1)), emit_.scalar(2, dtype_)});
    NodeId sign = emit_.cast(emit_.less(column, emit_.scalar(0, dtype_)), dtype_);
    return emit_.concat({low, sign}, emit_.rank(x));
  }
  NodeId number(NodeId bits) {
    int64_t axis = emit_.rank(bits) - 1;
    return emit_.squeeze(emit_.sum(emit_.mul(bits, powers(count_)), {axis}), axis);
  }

private:
  /// Returns 2^k; the one of the sign is negative.
  NodeId powers(int64_t count) {
    Literal made{{dtype_, {count}}, {}, {}};
    for (int64_t k = 0; k < count; ++k)
      made.ints.push_back(k + 1 == count_ ? -int64_t(uint64_t{1} << k) : int64_t{1} << k);
    return emit_.literal(made);
  }

  Emitter& emit_;
  DType dtype_;
  int64_t count_;
};

/// Computes a bitwise operator on bits a and b: and is a b, or a + b - a b, xor a + b - 2 a b.
template <int sum, int product> void bitwise(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), y = call.input(1);
  if (call.failed()) return;
  if (!is_integer(e.dtype(x))) {
    call.fail("bitwise operators require integers, got " + e.type(x).text());
    return;
  }
  Bits bits(e, e.dtype(x));
  int64_t rank = std::max(e.rank(x), e.rank(y));
  auto of = [&](NodeId one) { // make ranks equal before adding an axis
    Shape shape(static_cast<size_t>(rank - e.rank(one)), 1);
    shape.append(e.shape(one).begin(), e.shape(one).end());
    return bits.of(e.reshape(one, shape));
  };
  NodeId a = of(x), b = of(y), both = e.mul(e.mul(a, b), e.like(a, product));
  call.result(bits.number(sum ? e.add(e.add(a, b), both) : both));
}

// --- tests ---------------------------------------------------------------------------------------

void is_nan(Call& call) {
  NodeId x = call.input(0);
  call.result(call.emit().op(OpKind::NotEqual, {x, x}));
}

void is_inf(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  bool negative = flag(call, "detect_negative", true);
  bool positive = flag(call, "detect_positive", true);
  NodeId high = e.equal(x, e.like(x, kInfinity)), low = e.equal(x, e.like(x, -kInfinity));
  if (negative && positive) return call.result(e.op(OpKind::LogicalOr, {high, low}));
  if (negative || positive) return call.result(negative ? low : high);
  call.result(e.op(OpKind::LogicalAnd, {high, low})); // never true
}

void where(Call& call) {
  Emitter& e = call.emit();
  NodeId condition = call.input(0), x = call.input(1), y = call.input(2);
  auto is_nan_of = [&](NodeId number) {
    return e.graph().node(condition).op == OpKind::NotEqual &&
           llvm::all_of(e.graph().operands(condition), [&](NodeId x) { return x == number; });
  };
  if (!call.failed() && is_nan_of(y)) { // zeros for rows of NaN
    y = softmax_with_bounded_mask(e, y);
    condition = e.op(OpKind::NotEqual, {y, y});
  }
  call.result(e.select(condition, x, y));
}

// --- activations ---------------------------------------------------------------------------------

void gelu(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  std::string form = call.text("approximate", "none");
  if (form == "none") return call.result(e.unary(OpKind::Gelu, x));
  if (form != "tanh") call.fail("gelu approximated by `" + form + "` is unknown");
  NodeId cube = e.mul(e.mul(x, x), x);
  NodeId inner = e.mul(e.add(x, e.mul(cube, 0.044715)), std::sqrt(2 / M_PI));
  call.result(e.mul(e.mul(x, 0.5), e.add(e.unary(OpKind::Tanh, inner), 1.0)));
}

void leaky_relu(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  double alpha = call.real("alpha", static_cast<double>(0.01f));
  call.result(e.named("leaky_relu", {x}, {{"alpha", Value::of_float(alpha)}}));
}

/// The slope broadcasts to x in one direction; before opset 7 it is one number, or one per channel.
void prelu(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), slope = call.input(1);
  if (call.version() < 7 && e.rank(slope) == 1 && e.rank(x) > 1 && e.size(slope, 0) > 1) {
    Shape channels(static_cast<size_t>(e.rank(x)) - 1, 1);
    channels[0] = e.size(slope, 0);
    slope = e.reshape(slope, channels);
  }
  call.result(e.select(e.less(x, e.like(x, 0)), e.mul(x, slope), x));
}

NodeId elu(Emitter& e, NodeId x, double alpha) {
  return e.op(OpKind::Elu, {x}, {{"alpha", Value::of_float(alpha)}});
}
void elu(Call& call) { call.result(elu(call.emit(), call.input(0), call.real("alpha", 1))); }

/// Returns x where it is positive, otherwise alpha * expm1(x / alpha).
void celu(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  double alpha = call.real("alpha", 1);
  if (alpha == 1) return call.result(elu(e, x, 1));
  NodeId below = e.mul(e.unary(OpKind::Expm1, e.div(x, alpha)), alpha);
  call.result(e.select(e.less(e.like(x, 0), x), x, below));
}

void selu(Call& call) {
  Emitter& e = call.emit();
  double alpha = call.real("alpha", 1.67326319217681884765625);
  double gamma = call.real("gamma", 1.05070102214813232421875);
  call.result(e.mul(elu(e, call.input(0), alpha), gamma));
}

void hard_sigmoid(Call& call) {
  Emitter& e = call.emit();
  double alpha = call.real("alpha", static_cast<double>(0.2f)), beta = call.real("beta", 0.5);
  call.result(e.clip(e.add(e.mul(call.input(0), alpha), beta), 0, 1));
}

/// Returns x * sigmoid(alpha * x).
NodeId swished(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  double alpha = call.real("alpha", 1);
  return e.mul(x, e.unary(OpKind::Sigmoid, alpha == 1 ? x : e.mul(x, alpha)));
}
void swish(Call& call) { call.result(swished(call)); }
void swiglu(Call& call) { call.result(call.emit().mul(swished(call), call.input(1))); }

void softsign(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  call.result(e.div(x, e.add(e.unary(OpKind::Abs, x), 1.0)));
}

void thresholded_relu(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  NodeId above = e.less(e.like(x, call.real("alpha", 1)), x);
  call.result(e.select(above, x, e.like(x, 0)));
}

/// Returns 0 for |x| up to lambd; otherwise moves x towards 0 by the bias.
void shrink(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  double bias = call.real("bias", 0), lambd = call.real("lambd", 0.5);
  NodeId low = e.select(e.less(x, e.like(x, -lambd)), e.add(x, bias), e.like(x, 0));
  call.result(e.select(e.less(e.like(x, lambd), x), e.sub(x, bias), low));
}

/// Returns min(max(x, low), high) by comparisons, as ONNX defines Clip: NaN stays NaN, a NaN bound
/// is ignored, and a lower bound above the upper one gives the upper.
NodeId clipped(Emitter& e, NodeId x, double low, double high) {
  if (std::isnan(low)) low = -kInfinity;
  if (std::isnan(high)) high = kInfinity;
  return e.clip(x, std::min(low, high), high);
}

/// Bounds are attributes before opset 11, then optional inputs.
void clip(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  if (call.version() < 11) {
    double low = call.real("min", -kInfinity), high = call.real("max", kInfinity);
    return call.result(clipped(e, x, low, high));
  }
  auto bound = [&](size_t i, double otherwise) -> std::optional<double> {
    if (!call.has(i)) return otherwise;
    std::optional<Literal> known = e.known(call.input(i));
    if (!known || known->size() != 1 || known->is_whole()) return std::nullopt;
    return known->reals[0];
  };
  std::optional<double> low = bound(1, -kInfinity), high = bound(2, kInfinity);
  if (!x.valid()) return;
  if (low && high && is_float(e.dtype(x))) return call.result(clipped(e, x, *low, *high));
  auto bounded = [&](NodeId bound, OpKind op, bool is_low) {
    if (!is_float(e.dtype(x))) return e.op(op, {x, bound});
    return e.select(is_low ? e.less(x, bound) : e.less(bound, x), bound, x);
  };
  if (call.has(1)) x = bounded(call.input(1), OpKind::Maximum, true);
  if (call.has(2)) x = bounded(call.input(2), OpKind::Minimum, false);
  call.result(x);
}

// --- casts ---------------------------------------------------------------------------------------

/// `saturate` affects only 8-bit floats.
void cast(Call& call) {
  ignore(call, "saturate");
  ignore(call, "round_mode");
  if (call.version() >= 6) return cast_to(call, static_cast<int32_t>(call.whole("to")));
  std::string name = llvm::StringRef(call.text("to", "")).lower(); // by name before opset 6
  for (int32_t type = 1; type < schema::Tensor::DataType_ARRAYSIZE; ++type)
    if (element_type_name(type) == name) return cast_to(call, type);
  call.fail("its attribute `to` is `" + name + "`");
}

void cast_like(Call& call) {
  ignore(call, "saturate");
  ignore(call, "round_mode");
  if (int32_t element = narrow_element(call, 1)) return cast_to(call, element);
  switch (call.type(1).dtype) {
  case DType::F32: return cast_to(call, schema::Tensor::FLOAT);
  case DType::F64: return cast_to(call, schema::Tensor::DOUBLE);
  case DType::F16: return cast_to(call, schema::Tensor::FLOAT16);
  case DType::BF16: return cast_to(call, schema::Tensor::BFLOAT16);
  case DType::I32: return cast_to(call, schema::Tensor::INT32);
  case DType::I64: return cast_to(call, schema::Tensor::INT64);
  case DType::Bool: return cast_to(call, schema::Tensor::BOOL);
  default: return;
  }
}

void identity(Call& call) { call.result(0, call.value(0)); }

constexpr Form kPointwiseForms[] = {
    {"Abs", one<OpKind::Abs>},
    {"Acos", acos},
    {"Acosh", acosh},
    {"Add", sum},
    {"And", two<OpKind::LogicalAnd>},
    {"Asin", asin},
    {"Asinh", asinh},
    {"Atan", atan},
    {"Atanh", atanh},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", ceil},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", one<OpKind::Cos>},
    {"Cosh", cosh},
    {"DequantizeLinear", dequantize_linear},
    {"Div", div},
    {"Elu", elu},
    {"Equal", two<OpKind::Equal>},
    {"Erf", one<OpKind::Erf>},
    {"Exp", one<OpKind::Exp>},
    {"Floor", one<OpKind::Floor>},
    {"Gelu", gelu},
    {"Greater", greater},
    {"GreaterOrEqual", greater_or_equal},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", one<OpKind::Hardswish>},
    {"Identity", identity},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"LeakyRelu", leaky_relu},
    {"Less", two<OpKind::Less>},
    {"LessOrEqual", two<OpKind::LessEqual>},
    {"Log", one<OpKind::Log>},
    {"Max", many<OpKind::Maximum>},
    {"Mean", mean},
    {"Min", many<OpKind::Minimum>},
    {"Mish", one<OpKind::Mish>},
    {"Mod", mod},
    {"Mul", two<OpKind::Mul>},
    {"Neg", one<OpKind::Neg>},
    {"Not", one<OpKind::LogicalNot>},
    {"Or", two<OpKind::LogicalOr>},
    {"BitShift", bit_shift},
    {"BitwiseAnd", bitwise<0, 1>},
    {"BitwiseNot", bitwise_not},
    {"BitwiseOr", bitwise<1, -1>},
    {"BitwiseXor", bitwise<1, -2>},
    {"PRelu", prelu},
    {"Pow", pow},
    {"Reciprocal", reciprocal},
    {"Relu", one<OpKind::Relu>},
    {"Round", round},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", one<OpKind::Sigmoid>},
    {"Sign", one<OpKind::Sign>},
    {"Sin", one<OpKind::Sin>},
    {"Sinh", sinh},
    {"Softplus", one<OpKind::Softplus>},
    {"Softsign", softsign},
    {"Sqrt", one<OpKind::Sqrt>},
    {"Sub", two<OpKind::Sub>},
    {"Sum", many<OpKind::Add>},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"Tan", tan},
    {"Tanh", one<OpKind::Tanh>},
    {"ThresholdedRelu", thresholded_relu},
    {"Where", where},
    {"Xor", logical_xor},
};

} // namespace

llvm::ArrayRef<Form> pointwise_forms() { return kPointwiseForms; }

} // namespace tg::onnx
