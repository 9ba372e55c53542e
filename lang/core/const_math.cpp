// See const_math.h. One function per domain (integers, reals, lists),
// selected by the operands' kinds.
#include "lang/core/const_math.h"

#include "lang/core/semantics/semantics.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <cmath>

namespace tg {

namespace {

using Kind = Value::Kind;

struct Sign {
  llvm::StringLiteral text;
  int strength;
};
constexpr Sign kSigns[] = {
#define TG_CONST_OP(name, sign, strength) {sign, strength},
#include "lang/core/const_ops.def"
};

bool power(int64_t base, int64_t exponent, int64_t& out) {
  out = 1;
  if (base == 0 || base == 1) return out = exponent == 0 ? 1 : base, true;
  if (base == -1) return out = exponent % 2 ? -1 : 1, true;
  for (int64_t i = 0; i < exponent; ++i) // at most 63 iterations until it overflows
    if (llvm::MulOverflow(out, base, out)) return false;
  return true;
}

ConstFault divide(ConstOp op, int64_t a, int64_t b, int64_t& out) {
  if (b == 0) return ConstFault::DivisionByZero;
  if (a == INT64_MIN && b == -1) {
    out = 0;
    return op == ConstOp::Mod ? ConstFault::None : ConstFault::Overflow;
  }
  int64_t quotient = a / b, remainder = a % b;
  if (op == ConstOp::Div && remainder != 0) return ConstFault::Remainder;
  bool down = remainder != 0 && (remainder < 0) != (b < 0);
  out = op == ConstOp::Mod ? remainder + (down ? b : 0) : quotient - down;
  return ConstFault::None;
}

/// For the six comparisons.
bool compare(ConstOp op, std::partial_ordering order) {
  switch (op) {
  case ConstOp::Eq: return order == 0;
  case ConstOp::Ne: return order != 0;
  case ConstOp::Lt: return order < 0;
  case ConstOp::Le: return order <= 0;
  case ConstOp::Gt: return order > 0;
  default: return order >= 0;
  }
}

bool is_comparison(ConstOp op) { return op >= ConstOp::Eq && op <= ConstOp::Ge; }

ConstFault fold_ints(ConstOp op, int64_t a, int64_t b, int64_t& out) {
  auto fits = [](bool overflow) { return overflow ? ConstFault::Overflow : ConstFault::None; };
  switch (op) {
  case ConstOp::Add: return fits(llvm::AddOverflow(a, b, out));
  case ConstOp::Sub: return fits(llvm::SubOverflow(a, b, out));
  case ConstOp::Mul: return fits(llvm::MulOverflow(a, b, out));
  case ConstOp::Div:
  case ConstOp::FloorDiv:
  case ConstOp::Mod: return divide(op, a, b, out);
  case ConstOp::Pow: return b < 0 ? ConstFault::NegativePower : fits(!power(a, b, out));
  default: return ConstFault::WrongKind;
  }
}

ConstFault fold_reals(ConstOp op, double a, double b, double& out) {
  bool divides = op == ConstOp::Div || op == ConstOp::FloorDiv || op == ConstOp::Mod;
  if (b == 0 && divides) return ConstFault::DivisionByZero;
  switch (op) {
  case ConstOp::Add: out = a + b; return ConstFault::None;
  case ConstOp::Sub: out = a - b; return ConstFault::None;
  case ConstOp::Mul: out = a * b; return ConstFault::None;
  case ConstOp::Div: out = a / b; return ConstFault::None;
  case ConstOp::FloorDiv: out = std::floor(a / b); return ConstFault::None;
  case ConstOp::Mod: out = Math<double>::binary(OpKind::Mod, a, b); return ConstFault::None;
  case ConstOp::Pow: break;
  default: return ConstFault::WrongKind;
  }
  if (a == 0 && b < 0) return ConstFault::DivisionByZero;
  out = std::pow(a, b);
  bool undefined = std::isnan(out) && !std::isnan(a) && !std::isnan(b);
  return undefined ? ConstFault::Undefined : ConstFault::None;
}

/// Makes the integer result of floor, ceil and int from a rounded number.
ConstFault whole(double rounded, ConstNumber& out) {
  if (!(std::fabs(rounded) < 9e18)) return ConstFault::Overflow;
  out = ConstNumber::of_int(static_cast<int64_t>(rounded));
  return ConstFault::None;
}

ConstFault fold_function(ConstOp op, double x, ConstNumber& out) {
  auto value = [&](double y) { return out = ConstNumber::of_float(y), ConstFault::None; };
  switch (op) {
  case ConstOp::Sqrt: return x < 0 ? ConstFault::Undefined : value(std::sqrt(x));
  case ConstOp::Log: return x <= 0 ? ConstFault::Undefined : value(std::log(x));
  case ConstOp::Exp: return value(std::exp(x));
  case ConstOp::Sin: return value(std::sin(x));
  case ConstOp::Cos: return value(std::cos(x));
  case ConstOp::Tanh: return value(std::tanh(x));
  case ConstOp::Erf: return value(std::erf(x));
  case ConstOp::Float: return value(x);
  default: return ConstFault::WrongKind;
  }
}

template <class Number>
ConstFault fold_items(ConstOp op, llvm::ArrayRef<Number> list, ConstNumber& out) {
  if (op == ConstOp::Len)
    return out = ConstNumber::of_int(static_cast<int64_t>(list.size())), ConstFault::None;
  if (op != ConstOp::Sum && op != ConstOp::Prod) return ConstFault::WrongKind;
  out = ConstNumber::of_int(op == ConstOp::Prod);
  for (Number item : list) {
    ConstNumber next;
    if constexpr (std::is_same_v<Number, double>)
      next = ConstNumber::of_float(item);
    else
      next = ConstNumber::of_int(item);
    ConstFault fault = fold(op == ConstOp::Sum ? ConstOp::Add : ConstOp::Mul, out, next, out);
    if (fault != ConstFault::None) return fault;
  }
  return ConstFault::None;
}

} // namespace

ConstFault fold(ConstOp op, const ConstNumber& a, const ConstNumber& b, ConstNumber& out) {
  bool numbers = a.is_number() && b.is_number(), ints = a.is(Kind::Int) && b.is(Kind::Int);
  bool bools = a.is(Kind::Bool) && b.is(Kind::Bool);
  if (op == ConstOp::And || op == ConstOp::Or) {
    if (!bools) return ConstFault::WrongKind;
    out = ConstNumber::of_bool(op == ConstOp::And ? a.number && b.number : a.number || b.number);
    return ConstFault::None;
  }
  if (!numbers) {
    if (op != ConstOp::Eq && op != ConstOp::Ne) return ConstFault::WrongKind;
    bool equal = bools && a.number == b.number;
    return out = ConstNumber::of_bool(equal == (op == ConstOp::Eq)), ConstFault::None;
  }
  std::partial_ordering order = a.number <=> b.number;
  if (!ints) order = a.as_real() <=> b.as_real();
  if (is_comparison(op)) return out = ConstNumber::of_bool(compare(op, order)), ConstFault::None;
  if (op == ConstOp::Min || op == ConstOp::Max) {
    bool second = op == ConstOp::Min ? order > 0 : order < 0;
    return out = second ? b : a, ConstFault::None;
  }
  ConstNumber made;
  made.kind = ints ? Kind::Int : Kind::Float;
  ConstFault fault = ints ? fold_ints(op, a.number, b.number, made.number)
                          : fold_reals(op, a.as_real(), b.as_real(), made.real);
  if (fault == ConstFault::None) out = made;
  return fault;
}

ConstFault fold(ConstOp op, const ConstNumber& a, ConstNumber& out) {
  if (op == ConstOp::Not && a.is(Kind::Bool))
    return out = ConstNumber::of_bool(!a.number), ConstFault::None;
  if (!a.is_number()) return ConstFault::WrongKind;
  bool integer = a.is(Kind::Int);
  switch (op) {
  case ConstOp::Neg:
    if (!integer) return out = ConstNumber::of_float(-a.real), ConstFault::None;
    if (a.number == INT64_MIN) return ConstFault::Overflow;
    return out = ConstNumber::of_int(-a.number), ConstFault::None;
  case ConstOp::Abs:
    if (!integer) return out = ConstNumber::of_float(std::fabs(a.real)), ConstFault::None;
    return a.number < 0 ? fold(ConstOp::Neg, a, out) : (out = a, ConstFault::None);
  case ConstOp::Floor:
  case ConstOp::Ceil:
  case ConstOp::Int:
    if (integer) return out = a, ConstFault::None;
    return whole(op == ConstOp::Floor  ? std::floor(a.real)
                 : op == ConstOp::Ceil ? std::ceil(a.real)
                                       : std::trunc(a.real),
                 out);
  default: return fold_function(op, a.as_real(), out);
  }
}

ConstFault fold(ConstOp op, llvm::ArrayRef<int64_t> list, ConstNumber& out) {
  return fold_items(op, list, out);
}

ConstFault fold(ConstOp op, llvm::ArrayRef<double> list, ConstNumber& out) {
  return fold_items(op, list, out);
}

std::optional<ConstNumber> number_of(const Value& v) {
  if (v.is(Kind::Int) || v.is(Kind::Bool) || v.is(Kind::Float))
    return ConstNumber{v.kind, v.number, v.real};
  return std::nullopt;
}

Value value_of(const ConstNumber& n) {
  if (n.is(Kind::Float)) return Value::of_float(n.real);
  return n.is(Kind::Bool) ? Value::of_bool(n.number != 0) : Value::of_int(n.number);
}

static bool equal_numbers(const ConstNumber& a, const ConstNumber& b) {
  ConstNumber equal;
  return fold(ConstOp::Eq, a, b, equal) == ConstFault::None && equal.number;
}

bool equal_values(const Value& a, const Value& b) {
  if (std::optional<ConstNumber> x = number_of(a), y = number_of(b); x && y)
    return equal_numbers(*x, *y);
  auto is_list = [](const Value& v) { return v.is(Kind::Ints) || v.is(Kind::Floats); };
  if (!is_list(a) || !is_list(b) || (a.is(Kind::Ints) && b.is(Kind::Ints))) return a == b;
  auto size = [](const Value& v) { return v.ints.size() + v.reals.size(); };
  auto items = [](const Value& v) {
    return [&](size_t i) {
      return v.is(Kind::Ints) ? ConstNumber::of_int(v.ints[i]) : ConstNumber::of_float(v.reals[i]);
    };
  };
  return size(a) == size(b) && equal_items(size(a), items(a), items(b));
}

bool equal_items(size_t size, llvm::function_ref<ConstNumber(size_t)> a,
                 llvm::function_ref<ConstNumber(size_t)> b) {
  for (size_t i = 0; i < size; ++i)
    if (!equal_numbers(a(i), b(i))) return false;
  return true;
}

bool place_in_list(int64_t& index, int64_t size) {
  if (index < 0) index += size;
  return index >= 0 && index < size;
}

bool bound_in_list(int64_t& bound, int64_t size) {
  if (bound < 0) bound += size;
  return bound >= 0 && bound <= size;
}

llvm::StringRef const_op_name(ConstOp op) { return kSigns[static_cast<size_t>(op)].text; }
int const_strength(ConstOp op) { return kSigns[static_cast<size_t>(op)].strength; }

std::optional<ConstOp> const_function(llvm::StringRef name) {
  if (name == "pow") return ConstOp::Pow;
  for (ConstOp op = ConstOp::Min; op <= ConstOp::Prod; op = ConstOp(static_cast<int>(op) + 1))
    if (op != ConstOp::Neg && op != ConstOp::Not && const_op_name(op) == name) return op;
  return std::nullopt;
}

std::optional<ConstOp> const_sign(llvm::StringRef sign, bool prefix) {
  if (prefix && sign == "-") return ConstOp::Neg;
  if (prefix && sign == "not") return ConstOp::Not;
  for (ConstOp op = ConstOp::Add; op < ConstOp::Min; op = ConstOp(static_cast<int>(op) + 1))
    if (!prefix && const_op_name(op) == sign) return op;
  return std::nullopt;
}

} // namespace tg
