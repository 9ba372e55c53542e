// See consteval.h.
#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using ast::Op;
using Kind = Value::Kind;

bool fail(ConstError& error, Code code, std::string message) {
  error = {code, std::move(message)};
  return false;
}

/// A number or a bool; nullopt for all else.
std::optional<ConstNumber> number_of(const Value& v) {
  if (v.is(Kind::Int) || v.is(Kind::Bool) || v.is(Kind::Float))
    return ConstNumber{v.kind, v.number, v.real};
  return std::nullopt;
}

Value value_of(const ConstNumber& n) {
  if (n.is(Kind::Float)) return Value::of_float(n.real);
  return n.is(Kind::Bool) ? Value::of_bool(n.number != 0) : Value::of_int(n.number);
}

/// What to say of a fault other than operands of the wrong kind; `text` is the operation.
bool fail_at(ConstFault fault, const std::string& text, ConstError& error) {
  switch (fault) {
  case ConstFault::DivisionByZero:
    return fail(error, Code::inexact_division, text + ": division by zero");
  case ConstFault::Overflow: return fail(error, Code::overflow, text + " does not fit 64 bits");
  case ConstFault::NegativePower:
    return fail(error, Code::wrong_kind, text + ": an integer to a negative power");
  default: return fail(error, Code::wrong_kind, text + " is no real number");
  }
}

bool fold_two(ConstOp op, const Value& a, const Value& b, Value& out, ConstError& error) {
  std::optional<ConstNumber> x = number_of(a), y = number_of(b);
  ConstNumber made;
  ConstFault fault = x && y ? fold(op, *x, *y, made) : ConstFault::WrongKind;
  if (fault == ConstFault::None) return out = value_of(made), true;
  if (fault == ConstFault::WrongKind)
    return fail(error, Code::wrong_kind,
                llvm::formatv("`{0}` does not take {1} and {2}", const_op_name(op),
                              kind_text(a.kind), kind_text(b.kind)));
  if (fault == ConstFault::Remainder)
    return fail(error, Code::inexact_division,
                llvm::formatv("{0} / {1} leaves the remainder {2}", a.number, b.number,
                              a.number % b.number));
  return fail_at(
      fault, llvm::formatv("{0} {1} {2}", a.text_form(), const_op_name(op), b.text_form()), error);
}

bool fold_one(ConstOp op, const Value& a, Value& out, ConstError& error) {
  std::optional<ConstNumber> x = number_of(a);
  ConstNumber made;
  ConstFault fault = ConstFault::WrongKind;
  if (x) fault = fold(op, *x, made);
  if (a.is(Kind::Ints)) fault = fold(op, llvm::makeArrayRef(a.ints), made);
  if (a.is(Kind::Floats)) fault = fold(op, llvm::makeArrayRef(a.reals), made);
  if (fault == ConstFault::None) return out = value_of(made), true;
  bool sign = op == ConstOp::Neg || op == ConstOp::Not;
  if (fault == ConstFault::WrongKind || fault == ConstFault::Undefined)
    return fail(error, Code::wrong_kind,
                llvm::formatv("`{0}` does not take {1}", const_op_name(op),
                              sign ? kind_text(a.kind).str() : a.text_form()));
  return fail_at(fault, llvm::formatv("{0}({1})", const_op_name(op), a.text_form()), error);
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

std::optional<ConstOp> const_op(Op op) {
  return const_sign(ast::spelling(op), op == Op::Neg || op == Op::Not);
}

bool fold_binary(Op op, const Value& a, const Value& b, Value& out, ConstError& error) {
  bool scalars = number_of(a) && number_of(b);
  if (!scalars && (op == Op::Eq || op == Op::Ne))
    return out = Value::of_bool(equal_values(a, b) == (op == Op::Eq)), true;
  if (std::optional<ConstOp> known = const_op(op)) return fold_two(*known, a, b, out, error);
  return fail(error, Code::wrong_kind,
              llvm::formatv("`{0}` does not take {1} and {2}", ast::spelling(op), kind_text(a.kind),
                            kind_text(b.kind)));
}

bool fold_unary(Op op, const Value& a, Value& out, ConstError& error) {
  return fold_one(op == Op::Not ? ConstOp::Not : ConstOp::Neg, a, out, error);
}

bool is_const_function(llvm::StringRef name) { return const_function(name).has_value(); }

bool fold_call(llvm::StringRef name, llvm::ArrayRef<Value> args, Value& out, ConstError& error) {
  ConstOp op = *const_function(name);
  bool extreme = op == ConstOp::Min || op == ConstOp::Max;
  size_t wanted = op == ConstOp::Pow ? 2 : 1;
  if (extreme ? args.size() < 2 : args.size() != wanted)
    return fail(error, Code::wrong_kind,
                llvm::formatv("`{0}` takes {1}, got {2}", name,
                              extreme       ? "two or more numbers"
                              : wanted == 2 ? "two numbers"
                                            : "one argument",
                              args.size()));
  if (!extreme && wanted == 1) return fold_one(op, args[0], out, error);
  if (extreme)
    for (const Value& v : args)
      if (!is_number(v))
        return fail(error, Code::wrong_kind,
                    llvm::formatv("`{0}` does not take {1}", name, v.text_form()));
  out = args[0];
  for (const Value& v : args.drop_front())
    if (Value first = out; !fold_two(op, first, v, out, error)) return false;
  return true;
}

} // namespace tg
