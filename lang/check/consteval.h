// Arithmetic at compile time: what `2 * expand`, `H / 2` or `D % heads == 0` come to. Exact on
// integers: a result that does not fit 64 bits and a `/` that leaves a remainder are errors, never
// wrapped or rounded. Instantiation, rule conditions and dimensions all use this one evaluator.
#pragma once

#include "lang/core/diagnostic.h"
#include "lang/core/symbols.h"
#include "lang/syntax/ast.h"

#include <string>

namespace tg {

/// Why an expression has no value: wrong_kind, inexact_division, overflow or bad_number.
struct ConstError {
  Code code = Code::wrong_kind;
  std::string message;
};

/// `a op b`. Integers: `/` must divide exactly, `//` rounds down, `%` has the sign of the divisor,
/// `**` needs an exponent >= 0. An integer that meets a float becomes one. `==` and `!=` take any
/// two values; order is for numbers; `and`, `or` take two bools (and do not short-circuit here).
bool fold_binary(ast::Op op, const Value& a, const Value& b, Value& out, ConstError& error);

/// `-a` on numbers, `not a` on bools.
bool fold_unary(ast::Op op, const Value& a, Value& out, ConstError& error);

/// Functions of values alone: min, max (two or more numbers), abs, floor and ceil (which give
/// integers), pow, sqrt, exp, log, sin, cos, tanh, erf, len (of a list), sum and prod (of a list of
/// integers).
bool fold_call(llvm::StringRef name, llvm::ArrayRef<Value> args, Value& out, ConstError& error);
bool is_const_function(llvm::StringRef name);

/// The number as a float; `v` must be Int or Float.
double as_real(const Value& v);
inline bool is_number(const Value& v) { return v.is(Value::Kind::Int) || v.is(Value::Kind::Float); }

/// "an integer", "a list of integers": for messages.
llvm::StringRef kind_text(Value::Kind kind);

} // namespace tg
