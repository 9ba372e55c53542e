// See consteval.h. One function per domain (integers, reals, bools), picked by the operands' kinds.
#include "lang/check/consteval.h"

#include "lang/core/semantics.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

using ast::Op;
using Kind = Value::Kind;

bool fail(ConstError& error, Code code, std::string message) {
  error = {code, std::move(message)};
  return false;
}

bool too_large(ConstError& error, Op op, int64_t a, int64_t b) {
  return fail(error, Code::overflow,
              llvm::formatv("{0} {1} {2} does not fit 64 bits", a, ast::spelling(op), b));
}

bool power(int64_t base, int64_t exponent, int64_t& out) {
  out = 1;
  if (base == 0 || base == 1) return out = exponent == 0 ? 1 : base, true;
  if (base == -1) return out = exponent % 2 ? -1 : 1, true;
  for (int64_t i = 0; i < exponent; ++i) // at most 63 rounds until it overflows
    if (llvm::MulOverflow(out, base, out)) return false;
  return true;
}

bool divide(Op op, int64_t a, int64_t b, int64_t& out, ConstError& error) {
  if (b == 0)
    return fail(error, Code::inexact_division,
                llvm::formatv("{0} {1} 0: division by zero", a, ast::spelling(op)));
  if (a == INT64_MIN && b == -1) {
    if (op == Op::Mod) return out = 0, true;
    return too_large(error, op, a, b);
  }
  int64_t quotient = a / b, rest = a % b;
  if (op == Op::Div) {
    if (rest != 0)
      return fail(error, Code::inexact_division,
                  llvm::formatv("{0} / {1} leaves the remainder {2}", a, b, rest));
    return out = quotient, true;
  }
  bool round_down = rest != 0 && ((rest < 0) != (b < 0));
  out = op == Op::FloorDiv ? quotient - round_down : rest + (round_down ? b : 0);
  return true;
}

bool compare(Op op, std::partial_ordering order) {
  switch (op) {
  case Op::Eq: return order == 0;
  case Op::Ne: return order != 0;
  case Op::Lt: return order < 0;
  case Op::Le: return order <= 0;
  case Op::Gt: return order > 0;
  default: return order >= 0;
  }
}

bool fold_ints(Op op, int64_t a, int64_t b, Value& out, ConstError& error) {
  int64_t n = 0;
  bool overflow = false;
  switch (op) {
  case Op::Add: overflow = llvm::AddOverflow(a, b, n); break;
  case Op::Sub: overflow = llvm::SubOverflow(a, b, n); break;
  case Op::Mul: overflow = llvm::MulOverflow(a, b, n); break;
  case Op::Div:
  case Op::FloorDiv:
  case Op::Mod:
    if (!divide(op, a, b, n, error)) return false;
    break;
  case Op::Pow:
    if (b < 0)
      return fail(error, Code::wrong_kind,
                  llvm::formatv("{0} ** {1}: an integer to a negative power", a, b));
    overflow = !power(a, b, n);
    break;
  default: return out = Value::of_bool(compare(op, a <=> b)), true;
  }
  if (overflow) return too_large(error, op, a, b);
  return out = Value::of_int(n), true;
}

Value fold_reals(Op op, double a, double b) {
  switch (op) {
  case Op::Add: return Value::of_float(a + b);
  case Op::Sub: return Value::of_float(a - b);
  case Op::Mul: return Value::of_float(a * b);
  case Op::Div: return Value::of_float(a / b);
  case Op::FloorDiv: return Value::of_float(std::floor(a / b));
  case Op::Mod: return Value::of_float(Math<double>::binary(OpKind::Mod, a, b));
  case Op::Pow: return Value::of_float(std::pow(a, b));
  default: return Value::of_bool(compare(op, a <=> b));
  }
}

bool wrong_operands(Op op, const Value& a, const Value& b, ConstError& error) {
  return fail(error, Code::wrong_kind,
              llvm::formatv("`{0}` does not take {1} and {2}", ast::spelling(op), kind_text(a.kind),
                            kind_text(b.kind)));
}

/// min, max: the first of the numbers that no other is below (above).
bool fold_extreme(bool want_max, llvm::ArrayRef<Value> args, Value& out) {
  out = args[0];
  for (const Value& v : args.drop_front()) {
    bool less =
        v.is(Kind::Int) && out.is(Kind::Int) ? v.number < out.number : as_real(v) < as_real(out);
    bool equal =
        v.is(Kind::Int) && out.is(Kind::Int) ? v.number == out.number : as_real(v) == as_real(out);
    if (!equal && less != want_max) out = v;
  }
  return true;
}

bool fold_list(llvm::StringRef name, const Value& list, Value& out, ConstError& error) {
  int64_t n = name == "prod";
  for (int64_t item : list.ints) {
    bool overflow = name == "prod" ? llvm::MulOverflow(n, item, n) : llvm::AddOverflow(n, item, n);
    if (overflow)
      return fail(error, Code::overflow,
                  llvm::formatv("{0}({1}) does not fit 64 bits", name, list.text_form()));
  }
  return out = Value::of_int(n), true;
}

using RealFunction = double (*)(double);

/// Functions that are defined for every real number; null for other names.
RealFunction real_function(llvm::StringRef name) {
  return llvm::StringSwitch<RealFunction>(name)
      .Case("exp", [](double x) { return std::exp(x); })
      .Case("sin", [](double x) { return std::sin(x); })
      .Case("cos", [](double x) { return std::cos(x); })
      .Case("tanh", [](double x) { return std::tanh(x); })
      .Case("erf", [](double x) { return std::erf(x); })
      .Default(nullptr);
}

/// floor, ceil: the next integer below or above.
bool fold_rounding(llvm::StringRef name, const Value& x, Value& out, ConstError& error) {
  if (x.is(Kind::Int)) return out = x, true;
  if (!x.is(Kind::Float))
    return fail(error, Code::wrong_kind,
                llvm::formatv("`{0}` does not take {1}", name, x.text_form()));
  double rounded = name == "floor" ? std::floor(x.real) : std::ceil(x.real);
  if (!(std::fabs(rounded) < 9e18))
    return fail(error, Code::overflow,
                llvm::formatv("{0}({1}) does not fit 64 bits", name, x.text_form()));
  return out = Value::of_int(static_cast<int64_t>(rounded)), true;
}

} // namespace

double as_real(const Value& v) { return v.is(Kind::Int) ? static_cast<double>(v.number) : v.real; }

llvm::StringRef kind_text(Kind kind) {
  switch (kind) {
  case Kind::Int: return "an integer";
  case Kind::Bool: return "a bool";
  case Kind::Float: return "a float";
  case Kind::Ints: return "a list of integers";
  case Kind::Floats: return "a list of floats";
  case Kind::Enum: return "an enumeration value";
  case Kind::String: return "a string";
  case Kind::Type: return "a type";
  }
  return "a value";
}

bool fold_binary(Op op, const Value& a, const Value& b, Value& out, ConstError& error) {
  if (op == Op::And || op == Op::Or) {
    if (!a.is(Kind::Bool) || !b.is(Kind::Bool)) return wrong_operands(op, a, b, error);
    out = Value::of_bool(op == Op::And ? a.number && b.number : a.number || b.number);
    return true;
  }
  if (a.is(Kind::Int) && b.is(Kind::Int)) return fold_ints(op, a.number, b.number, out, error);
  if (is_number(a) && is_number(b)) return out = fold_reals(op, as_real(a), as_real(b)), true;
  if (op == Op::Eq || op == Op::Ne) return out = Value::of_bool((a == b) == (op == Op::Eq)), true;
  return wrong_operands(op, a, b, error);
}

bool fold_unary(Op op, const Value& a, Value& out, ConstError& error) {
  if (op == Op::Not && a.is(Kind::Bool)) return out = Value::of_bool(!a.number), true;
  if (op == Op::Neg && a.is(Kind::Float)) return out = Value::of_float(-a.real), true;
  if (op == Op::Neg && a.is(Kind::Int)) {
    if (a.number == INT64_MIN) return too_large(error, Op::Sub, 0, a.number);
    return out = Value::of_int(-a.number), true;
  }
  return fail(error, Code::wrong_kind,
              llvm::formatv("`{0}` does not take {1}", ast::spelling(op), kind_text(a.kind)));
}

bool is_const_function(llvm::StringRef name) {
  return real_function(name) || llvm::StringSwitch<bool>(name)
                                    .Cases("min", "max", "abs", "len", "sum", "prod", true)
                                    .Cases("floor", "ceil", "pow", "sqrt", "log", true)
                                    .Default(false);
}

bool fold_call(llvm::StringRef name, llvm::ArrayRef<Value> args, Value& out, ConstError& error) {
  bool extreme = name == "min" || name == "max";
  size_t wanted = name == "pow" ? 2 : 1;
  if (extreme ? args.size() < 2 : args.size() != wanted)
    return fail(error, Code::wrong_kind,
                llvm::formatv("`{0}` takes {1}, got {2}", name,
                              extreme       ? "two or more numbers"
                              : wanted == 2 ? "two numbers"
                                            : "one argument",
                              args.size()));
  const Value& first = args[0];
  if (extreme && llvm::all_of(args, is_number)) return fold_extreme(name == "max", args, out);
  if (name == "pow") return fold_binary(Op::Pow, args[0], args[1], out, error);
  if (name == "floor" || name == "ceil") return fold_rounding(name, first, out, error);
  if (name == "abs" && first.is(Kind::Float))
    return out = Value::of_float(std::fabs(first.real)), true;
  if (name == "abs" && first.is(Kind::Int))
    return first.number < 0 ? fold_unary(Op::Neg, first, out, error) : (out = first, true);
  bool positive = is_number(first) && (name == "sqrt" ? as_real(first) >= 0 : as_real(first) > 0);
  if ((name == "sqrt" || name == "log") && positive) {
    double x = as_real(first);
    return out = Value::of_float(name == "sqrt" ? std::sqrt(x) : std::log(x)), true;
  }
  if (auto* function = real_function(name); function && is_number(first))
    return out = Value::of_float(function(as_real(first))), true;
  if (name == "len" && (first.is(Kind::Ints) || first.is(Kind::Floats))) {
    size_t size = first.is(Kind::Ints) ? first.ints.size() : first.reals.size();
    return out = Value::of_int(static_cast<int64_t>(size)), true;
  }
  if ((name == "sum" || name == "prod") && first.is(Kind::Ints))
    return fold_list(name, first, out, error);
  return fail(error, Code::wrong_kind,
              llvm::formatv("`{0}` does not take {1}", name, first.text_form()));
}

} // namespace tg
