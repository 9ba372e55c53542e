// Implements the arithmetic on open numbers of value.h.
#include "compiler/ir/eval/value.h"

#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>

namespace tg::eval {

using ast::Op;

namespace {

SizeRun* run_in(llvm::ArrayRef<Val> vals) {
  for (const Val& val : vals) {
    if (val.run) return val.run;
    if (SizeRun* run = run_in(val.items)) return run;
  }
  return nullptr;
}

/// Fixes the sizes in the operands, so that the result is a number.
Val fixed_result(llvm::ArrayRef<Val> operands, const Value& folded) {
  for (const Val& operand : operands) (void)settled(operand);
  return Val::of(folded);
}

/// Notes that a number that must be positive is, as at the sample.
void note_positive(const Val& val) {
  if (!val.is(Val::Kind::Open)) return;
  if (val.size.open())
    (void)(val.size > 0);
  else
    (void)settled(val);
}

/// A size that is positive exactly where the number is; 1 for a positive number, 0 if none is
/// known.
Size sign_of(const Val& val) {
  if (val.is(Val::Kind::Open)) return val.size;
  return as_real(val.value) > 0 ? 1 : 0;
}

Val compared(Op op, const Size& a, const Size& b) {
  bool holds = false;
  switch (op) {
  case Op::Eq: holds = a == b; break;
  case Op::Ne: holds = a != b; break;
  case Op::Lt: holds = a < b; break;
  case Op::Le: holds = a <= b; break;
  case Op::Gt: holds = a > b; break;
  default: holds = a >= b; break;
  }
  return Val::of(Value::of_bool(holds));
}

Val power(const Val& a, const Val& b, const Value& folded) {
  constexpr int64_t kMost = 8;
  if (b.is(Val::Kind::Open) || b.value.number > kMost) return fixed_result({a, b}, folded);
  Size product = 1;
  for (int64_t i = 0; i < b.value.number; ++i) product *= a.as_size();
  return Val::of(product);
}

Val of_integers(Op op, const Val& left, const Val& right, const Value& folded) {
  const Size a = left.as_size(), b = right.as_size();
  if (ast::is_comparison(op)) return compared(op, a, b);
  switch (op) {
  case Op::Add: return Val::of(a + b);
  case Op::Sub: return Val::of(a - b);
  case Op::Mul: return Val::of(a * b);
  case Op::FloorDiv: return Val::of(a / b);
  case Op::Mod: return Val::of(a % b);
  case Op::Div: {
    (void)(a % b == 0); // as at the sample
    return Val::of(a / b);
  }
  case Op::Pow: return power(left, right, folded);
  default: return fixed_result({left, right}, folded);
  }
}

/// The sign of a product, quotient or sum of positive numbers is known with them.
Size sign_of(Op op, const Val& a, const Val& b) {
  Size x = sign_of(a), y = sign_of(b);
  bool known = (x.open() || x.sample() > 0) && (y.open() || y.sample() > 0);
  if (!known || (x.open() && y.open())) return 0;
  if (op == Op::Mul || op == Op::Div) return x.open() ? x : y;
  return 0;
}

Val of_floats(Op op, const Val& a, const Val& b, const Value& folded) {
  if (ast::is_comparison(op) || op == Op::Pow) return fixed_result({a, b}, folded);
  bool divides = op == Op::Div || op == Op::FloorDiv || op == Op::Mod;
  if (divides) note_positive(b);
  return Val::open_float(folded.real, run_in({a, b}), sign_of(op, a, b));
}

Size extreme(bool largest, llvm::ArrayRef<Size> sizes) {
  Size out = sizes[0];
  for (const Size& size : sizes.drop_front())
    out = largest ? std::max(out, size) : std::min(out, size);
  return out;
}

/// The functions whose result on integers is an expression; nullopt for others.
std::optional<Size> of_integers(llvm::StringRef name, llvm::ArrayRef<Val> args) {
  llvm::SmallVector<Size, 6> sizes;
  if (args.size() == 1 && args[0].is(Val::Kind::List)) {
    std::optional<llvm::SmallVector<Size, 6>> items = as_sizes(args[0]);
    if (!items || (name != "sum" && name != "prod")) return std::nullopt;
    Size total = name == "sum" ? 0 : 1;
    for (const Size& item : *items) total = name == "sum" ? total + item : total * item;
    return total;
  }
  for (const Val& arg : args) {
    if (!arg.integer()) return std::nullopt;
    sizes.push_back(arg.as_size());
  }
  if (name == "min" || name == "max") return extreme(name == "max", sizes);
  if (name == "abs") return sizes[0] < 0 ? Size(0) - sizes[0] : sizes[0];
  if (name == "int" || name == "floor" || name == "ceil") return sizes[0];
  return std::nullopt;
}

} // namespace

Val open_unary(const Val& a, const Value& folded) {
  if (a.integer()) return Val::of(Size(0) - a.size);
  return Val::open_float(folded.real, a.run, 0);
}

Val open_binary(Op op, const Val& a, const Val& b, const Value& folded) {
  if (a.integer() && b.integer()) return of_integers(op, a, b, folded);
  bool numbers = is_number(a.value) && is_number(b.value);
  return numbers ? of_floats(op, a, b, folded) : fixed_result({a, b}, folded);
}

Val open_function(llvm::StringRef name, llvm::ArrayRef<Val> args, const Value& folded) {
  if (folded.is(Value::Kind::Int)) {
    if (std::optional<Size> size = of_integers(name, args)) return Val::of(*size);
    if (name == "pow" && args[0].integer() && args[1].integer())
      return power(args[0], args[1], folded);
    return fixed_result(args, folded);
  }
  bool single = args.size() == 1 && args[0].is(Val::Kind::Open);
  if (!single || !folded.is(Value::Kind::Float)) return fixed_result(args, folded);
  const Val& x = args[0];
  bool total = llvm::StringSwitch<bool>(name)
                   .Cases("float", "exp", "sin", "cos", "tanh", "erf", "abs", true)
                   .Default(false);
  bool keeps_sign = name == "float" || name == "sqrt";
  if (name == "sqrt" && x.integer()) (void)(x.size >= 0);
  if (name == "log" || (name == "sqrt" && !x.integer())) note_positive(x);
  if (!total && name != "sqrt" && name != "log") return fixed_result(args, folded);
  return Val::open_float(folded.real, x.run, keeps_sign ? x.size : Size(0));
}

std::optional<Value> at_sample(const Val& val) {
  if (val.is(Val::Kind::Const) || val.is(Val::Kind::Open)) return val.value;
  Val copy = val;
  for (Val& item : copy.items)
    if (item.is(Val::Kind::Open)) item = Val::of(item.value);
  return as_value(copy);
}

} // namespace tg::eval
