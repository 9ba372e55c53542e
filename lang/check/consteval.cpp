// See consteval.h.
#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using ast::ExprKind;
using ast::Op;
using Kind = Value::Kind;

bool fail(ConstError& error, Code code, std::string message) {
  error = {code, std::move(message)};
  return false;
}

/// Reports a fault other than operands of the wrong kind; `text` is the operation.
bool fail_at(ConstFault fault, const std::string& text, ConstError& error) {
  switch (fault) {
  case ConstFault::DivisionByZero:
    return fail(error, Code::inexact_division, text + ": division by zero");
  case ConstFault::Overflow: return fail(error, Code::overflow, text + " does not fit 64 bits");
  case ConstFault::NegativePower:
    return fail(error, Code::wrong_kind, text + ": an integer cannot have a negative power");
  default: return fail(error, Code::wrong_kind, text + " is not a real number");
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
  using enum ConstOp;
  static constexpr std::optional<ConstOp> kOps[] = {
      {}, Add, Sub, Mul, Div, FloorDiv, Mod, {}, Pow, // in the order of ast::Op
      Eq, Ne,  Lt,  Le,  Gt,  Ge,       And, Or, Neg, Not};
  static_assert(std::size(kOps) == static_cast<size_t>(Op::Not) + 1);
  return kOps[static_cast<size_t>(op)];
}

namespace {

bool is_part_of_text(const Value& v) { return v.is(Kind::String) || v.is(Kind::Int); }

/// Concatenates as in `"layers." + i + ".w"`.
bool join_texts(const Value& a, const Value& b, Value& out, ConstError& error) {
  auto text = [](const Value& v) { return v.is(Kind::Int) ? std::to_string(v.number) : v.text; };
  std::string joined = text(a) + text(b);
  if (joined.size() > kMostTextLetters)
    return fail(error, Code::overflow,
                llvm::formatv("a string is longer than {0} characters", kMostTextLetters));
  out = Value::of_string(joined);
  return true;
}

} // namespace

bool fold_binary(Op op, const Value& a, const Value& b, Value& out, ConstError& error) {
  bool scalars = number_of(a) && number_of(b);
  if (!scalars && (op == Op::Eq || op == Op::Ne))
    return out = Value::of_bool(equal_values(a, b) == (op == Op::Eq)), true;
  if (op == Op::Add && (a.is(Kind::String) || b.is(Kind::String)))
    if (is_part_of_text(a) && is_part_of_text(b)) return join_texts(a, b, out, error);
  if (std::optional<ConstOp> known = const_op(op)) return fold_two(*known, a, b, out, error);
  return fail(error, Code::wrong_kind,
              llvm::formatv("`{0}` does not take {1} and {2}", ast::spelling(op), kind_text(a.kind),
                            kind_text(b.kind)));
}

bool fold_unary(Op op, const Value& a, Value& out, ConstError& error) {
  return fold_one(op == Op::Not ? ConstOp::Not : ConstOp::Neg, a, out, error);
}

namespace {

class Folder {
public:
  Folder(const Ast& tree, llvm::function_ref<std::optional<Value>(const ast::Expr&)> word)
      : tree_(tree), word_(word) {}

  std::optional<Value> run(ast::ExprId id) const {
    if (!id) return std::nullopt;
    const ast::Expr& e = tree_[id];
    switch (e.kind) {
    case ExprKind::Int: return Value::of_int(e.int_value);
    case ExprKind::Float: return Value::of_float(e.float_value);
    case ExprKind::Bool: return Value::of_bool(e.int_value != 0);
    case ExprKind::Name: return word_(e);
    case ExprKind::List: return list(e);
    case ExprKind::Index: return item(e);
    case ExprKind::Unary: return unary(e);
    case ExprKind::Binary: return binary(e);
    case ExprKind::Call: return call(e);
    default: return std::nullopt;
    }
  }

private:
  std::optional<Value> unary(const ast::Expr& e) const {
    std::optional<Value> a = run(e.a), out = Value();
    return a && fold_unary(e.op, *a, *out, why_) ? out : std::nullopt;
  }

  /// Evaluates the second operand of `and` and `or` only if the first does not decide.
  std::optional<Value> binary(const ast::Expr& e) const {
    std::optional<Value> a = run(e.a);
    bool logic = e.op == Op::And || e.op == Op::Or;
    if (logic && a && a->is(Kind::Bool) && (a->number != 0) == (e.op == Op::Or)) return a;
    std::optional<Value> b = a ? run(e.b) : std::nullopt, out = Value();
    return b && fold_binary(e.op, *a, *b, *out, why_) ? out : std::nullopt;
  }

  std::optional<Value> call(const ast::Expr& e) const {
    llvm::ArrayRef<ast::Arg> args = tree_[e.args];
    if (!is_const_function(e.callee.text) || args.empty()) return std::nullopt;
    if (std::optional<size_t> size = length(args[0].value);
        size && args.size() == 1 && e.callee.text == "len")
      return Value::of_int(static_cast<int64_t>(*size));
    llvm::SmallVector<Value, 2> values;
    for (const ast::Arg& arg : args) {
      bool plain = arg.kind == ast::ArgKind::Positional;
      std::optional<Value> value = plain ? run(arg.value) : std::nullopt;
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    std::optional<Value> out = Value();
    return fold_call(e.callee.text, values, *out, why_) ? out : std::nullopt;
  }

  /// Only integers: Ints. Only numbers: Floats.
  std::optional<Value> list(const ast::Expr& e) const {
    std::vector<int64_t> ints;
    std::vector<double> reals;
    for (ast::ExprId id : tree_[e.items]) {
      std::optional<Value> value = run(id);
      if (!value || !is_number(*value)) return std::nullopt;
      if (value->is(Kind::Int)) ints.push_back(value->number);
      reals.push_back(number_of(*value)->as_real());
    }
    return ints.size() == reals.size() ? Value::of_ints(ints) : Value::of_floats(std::move(reals));
  }

  /// Returns the length of a list literal with any items.
  std::optional<size_t> length(ast::ExprId id) const {
    const ast::Expr* e = id ? &tree_[id] : nullptr;
    if (!e || e->kind != ExprKind::List) return std::nullopt;
    auto spreads = [&](ast::ExprId item) { return tree_[item].kind == ExprKind::Spread; };
    return llvm::any_of(tree_[e->items], spreads) ? std::nullopt
                                                  : std::optional<size_t>(e->items.size());
  }

  std::optional<Value> item(const ast::Expr& e) const {
    llvm::ArrayRef<ast::Slice> places = tree_[e.slices];
    std::optional<size_t> size = length(e.a);
    std::optional<Value> at;
    if (places.size() == 1 && !places[0].range) at = run(places[0].begin);
    if (!at || !at->is(Kind::Int) || !size) return std::nullopt;
    bool inside = place_in_list(at->number, static_cast<int64_t>(*size));
    return inside ? run(tree_[tree_[e.a].items][static_cast<size_t>(at->number)]) : std::nullopt;
  }

  const Ast& tree_;
  llvm::function_ref<std::optional<Value>(const ast::Expr&)> word_;
  mutable ConstError why_; // not read
};

} // namespace

std::optional<Value> fold_expr(const Ast& tree, ast::ExprId id,
                               llvm::function_ref<std::optional<Value>(const ast::Expr&)> word) {
  return Folder(tree, word).run(id);
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
