// Numbers as represented in dtypes: rounded to nearest even, and their shortest decimal text.
#pragma once

#include "lang/core/symbols.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// Returns true if n is between -2^53 and 2^53, where doubles represent every integer.
inline bool is_exact_in_double(int64_t n) {
  constexpr int64_t kEnd = int64_t{1} << 53;
  return n >= -kEnd && n <= kEnd;
}

/// Normalizes a number in an attribute or constant of the dtype (DType::None: any dtype):
/// an integer beyond 2^53 is an Int if the dtype is i64; all other numbers are Floats.
/// So equal numbers are equal values, and no integer is rounded.
Value normal_number(const Value& number, DType dtype);
/// The same for the elements of a constant: Ints if one of them is beyond 2^53.
Value normal_numbers(const Value& numbers, DType dtype);

/// Returns x as represented in a float dtype; for other dtypes x itself.
double round_number(double x, DType dtype);

/// Returns the number with the fewest decimal digits among those with the same representation
/// in the dtype: 0.1 for f32's 0.100000001490116.
double shortest_number(double x, DType dtype);

/// Returns the number near x with the fewest decimal digits, at most 9,
/// for which `alike` returns true; else x.
double shortest_number(double x, llvm::function_ref<bool(double)> alike);

} // namespace tg
