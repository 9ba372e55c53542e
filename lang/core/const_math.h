// Arithmetic on compile-time values: what `2 * expand`, `H / 2` or `min(a, b)` are. The one
// definition, which models (lang/check/consteval.h), conditions of rules (compiler/rules/eval.h)
// and declared types (extern_signature.h) share, so that they cannot disagree.
//
// Integers are exact: what does not fit 64 bits, and a `/` that leaves a remainder, has no value.
// Floats round and overflow as IEEE 754 says; what is undefined for real numbers (a division by
// zero, the root of -1) has no value: who means infinity or NaN writes `inf` or `nan`. An integer
// that meets a float becomes one.
#pragma once

#include "lang/core/symbols.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>

namespace tg {

enum class ConstOp : uint8_t {
#define TG_CONST_OP(name, sign, strength) name,
#include "lang/core/const_ops.def"
};

/// Why an operation has no value.
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

/// nullopt of what is no number and no bool.
std::optional<ConstNumber> number_of(const Value& v);
Value value_of(const ConstNumber& n);

/// Order is for numbers, `and` and `or` for bools (both are evaluated: who short-circuits does so
/// before). Min and Max give the first of equal ones, as it is.
ConstFault fold(ConstOp op, const ConstNumber& a, const ConstNumber& b, ConstNumber& out);
ConstFault fold(ConstOp op, const ConstNumber& a, ConstNumber& out);
ConstFault fold(ConstOp op, llvm::ArrayRef<int64_t> list, ConstNumber& out);
ConstFault fold(ConstOp op, llvm::ArrayRef<double> list, ConstNumber& out);

/// `==` on any two values: numbers as numbers, lists of them item by item, all else as it is.
bool equal_values(const Value& a, const Value& b);
/// The same of two lists of so many numbers.
bool equal_items(size_t size, llvm::function_ref<ConstNumber(size_t)> a,
                 llvm::function_ref<ConstNumber(size_t)> b);

/// Counts an index from the front. False where the list has no such item.
bool place_in_list(int64_t& index, int64_t size);
/// The same of a bound of a slice, which may lie behind the last item.
bool bound_in_list(int64_t& bound, int64_t size);

/// "+", "//", "and", "min".
llvm::StringRef const_op_name(ConstOp op);
/// How close its sign binds, the larger the closer; 0 of what is written as a call.
int const_strength(ConstOp op);
/// The operation that is written as a call of that name.
std::optional<ConstOp> const_function(llvm::StringRef name);
/// The binary (or prefix) operation that is written with that sign.
std::optional<ConstOp> const_sign(llvm::StringRef sign, bool prefix);

} // namespace tg
