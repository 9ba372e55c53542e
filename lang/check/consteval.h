// Compile-time values in models: const_math.h over `Value`s, with the diagnostics where there
// is no value.
#pragma once

#include "lang/core/const_math.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/symbols.h"
#include "lang/syntax/ast.h"

#include <string>

namespace tg {

/// Why an expression has no value: wrong_kind, inexact_division or overflow.
struct ConstError {
  Code code = Code::wrong_kind;
  std::string message;
};

/// The value of an expression that numbers, bools, lists and words alone make; nullopt where it has
/// none. `word`: what a name stands for. `and` and `or` short-circuit.
std::optional<Value> fold_expr(const Ast& tree, ast::ExprId id,
                               llvm::function_ref<std::optional<Value>(const ast::Expr&)> word);

/// Whether `x ** n` of a tensor is a product, as it is where that is exact and cheaper than a
/// power: x * x, x * x * x, (x * x) * (x * x).
inline bool is_product(int64_t n) { return n >= 2 && n <= 4; }

/// The operation that a sign stands for; nullopt for `@`.
std::optional<ConstOp> const_op(ast::Op op);

/// Strings that are joined may have so many letters.
inline constexpr size_t kMostTextLetters = 4096;

/// `a op b`. `==` and `!=` take any two values, `+` also strings, with each other and with
/// integers. `and` and `or` do not short-circuit here.
bool fold_binary(ast::Op op, const Value& a, const Value& b, Value& out, ConstError& error);

/// `-a` on numbers, `not a` on bools.
bool fold_unary(ast::Op op, const Value& a, Value& out, ConstError& error);

/// Functions of values alone: min, max (two or more numbers), pow, and those of one number or list
/// that const_math.h has.
bool fold_call(llvm::StringRef name, llvm::ArrayRef<Value> args, Value& out, ConstError& error);
bool is_const_function(llvm::StringRef name);

/// The number as a float; `v` must be Int or Float.
inline double as_real(const Value& v) { return number_of(v)->as_real(); }
inline bool is_number(const Value& v) { return v.is(Value::Kind::Int) || v.is(Value::Kind::Float); }

/// "an integer", "a list of integers": for messages.
llvm::StringRef kind_text(Value::Kind kind);

} // namespace tg
