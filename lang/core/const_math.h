// Arithmetic on compile-time values, such as `2 * expand`, `H / 2` or `min(a, b)`.
// Models (lang/check/consteval.h), conditions of rules (compiler/rules/eval.h)
// and declared types (extern_signature.h) share this one definition, so they cannot disagree.
//
// Integers are exact: a result that does not fit in 64 bits, or a `/` with a remainder,
// has no value. Floats round and overflow as in IEEE 754. An operation that is undefined
// for real numbers (a division by zero, the root of -1) has no value;
// infinity and NaN are written `inf` and `nan`. An integer combined with a float becomes a float.
#pragma once

#include "lang/core/symbols.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>

namespace tg {

enum class ConstOp : uint8_t {
#define TG_CONST_OP(name, sign, strength) name,
#include "lang/core/const_ops.def"
};

/// The reason why an operation has no value.
enum class ConstFault : uint8_t {
  None,
  WrongKind,
  DivisionByZero,
  Remainder,
  Overflow,
  NegativePower,
  Undefined, // for real numbers
};

/// A number or a bool.
struct ConstNumber {
  Value::Kind kind = Value::Kind::Int; // Int, Bool or Float
  int64_t number = 0;                  // Int, Bool
  double real = 0;                     // Float

  static ConstNumber of_int(int64_t n) { return {Value::Kind::Int, n, 0}; }
  static ConstNumber of_bool(bool b) { return {Value::Kind::Bool, b, 0}; }
  static ConstNumber of_float(double x) { return {Value::Kind::Float, 0, x}; }
  bool is(Value::Kind k) const { return kind == k; }
  bool is_number() const { return kind != Value::Kind::Bool; }
  double as_real() const { return kind == Value::Kind::Float ? real : static_cast<double>(number); }
};

/// Returns nullopt if the value is neither a number nor a bool.
std::optional<ConstNumber> number_of(const Value& v);
Value value_of(const ConstNumber& n);

/// Comparisons of order are for numbers, `and` and `or` for bools (both operands are evaluated:
/// callers short-circuit). Min and Max return the first of equal operands unchanged.
ConstFault fold(ConstOp op, const ConstNumber& a, const ConstNumber& b, ConstNumber& out);
ConstFault fold(ConstOp op, const ConstNumber& a, ConstNumber& out);
ConstFault fold(ConstOp op, llvm::ArrayRef<int64_t> list, ConstNumber& out);
ConstFault fold(ConstOp op, llvm::ArrayRef<double> list, ConstNumber& out);

/// Implements `==` for any two values: numbers are compared as numbers,
/// lists of numbers item by item, and others structurally.
bool equal_values(const Value& a, const Value& b);
/// The same for two lists of `size` numbers.
bool equal_items(size_t size, llvm::function_ref<ConstNumber(size_t)> a,
                 llvm::function_ref<ConstNumber(size_t)> b);

/// Converts an index to one from the front. Returns false if the list has no such item.
bool place_in_list(int64_t& index, int64_t size);
/// The same for a bound of a slice, which may be one past the last item.
bool bound_in_list(int64_t& bound, int64_t size);

/// Returns "+", "//", "and", "min".
llvm::StringRef const_op_name(ConstOp op);
/// Returns the binding strength of the sign (larger binds tighter);
/// 0 for an operation written as a call.
int const_strength(ConstOp op);
/// Returns the operation that is written as a call of that name.
std::optional<ConstOp> const_function(llvm::StringRef name);
/// Returns the binary (or prefix) operation with that sign.
std::optional<ConstOp> const_sign(llvm::StringRef sign, bool prefix);

} // namespace tg
