// Compile-time values in models: const_math.h over `Value`s, with diagnostics
// for expressions without a value.
#pragma once

#include "lang/core/const_math.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/symbols.h"
#include "lang/syntax/ast.h"

#include <string>

namespace tg {

/// The reason why an expression has no value: wrong_kind, inexact_division or overflow.
struct ConstError {
  Code code = Code::wrong_kind;
  std::string message;
};

/// Returns the value of an expression of numbers, bools, lists and names; nullopt if it has none.
/// `word` returns the value of a name. `and` and `or` short-circuit.
std::optional<Value> fold_expr(const Ast& tree, ast::ExprId id,
                               llvm::function_ref<std::optional<Value>(const ast::Expr&)> word);

/// Returns true if `x ** n` of a tensor is computed as a product,
/// which is exact and cheaper than a power: x * x, x * x * x, (x * x) * (x * x).
inline bool is_product(int64_t n) { return n >= 2 && n <= 4; }

/// Returns the operation of a sign; nullopt for `@`.
std::optional<ConstOp> const_op(ast::Op op);

/// The maximum length of concatenated strings.
inline constexpr size_t kMostTextLetters = 4096;

/// Computes `a op b`. `==` and `!=` take any two values; `+` also concatenates strings
/// with strings and integers. `and` and `or` do not short-circuit here.
bool fold_binary(ast::Op op, const Value& a, const Value& b, Value& out, ConstError& error);

/// Computes `-a` for numbers, `not a` for bools.
bool fold_unary(ast::Op op, const Value& a, Value& out, ConstError& error);

/// Computes functions of values: min, max (two or more numbers), pow,
/// and the functions of one number or list in const_math.h.
bool fold_call(llvm::StringRef name, llvm::ArrayRef<Value> args, Value& out, ConstError& error);
bool is_const_function(llvm::StringRef name);

/// Returns the number as a float; `v` must be Int or Float.
inline double as_real(const Value& v) { return number_of(v)->as_real(); }
inline bool is_number(const Value& v) { return v.is(Value::Kind::Int) || v.is(Value::Kind::Float); }

/// Returns "an integer", "a list of integers", for messages.
llvm::StringRef kind_text(Value::Kind kind);

} // namespace tg
