// Numbers as dtypes hold them: rounded to nearest even, and their shortest decimal text.
#pragma once

#include "lang/core/symbols.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// Returns whether n is between -2^53 and 2^53, where doubles hold every integer.
inline bool is_exact_in_double(int64_t n) {
  constexpr int64_t kEnd = int64_t{1} << 53;
  return n >= -kEnd && n <= kEnd;
}

/// The normal form of a number in an attribute or constant of the dtype (DType::None: of any): an
/// integer beyond 2^53 is an Int where the dtype is i64, all other numbers are Floats. So equal
/// numbers are equal values, and no integer is rounded.
Value normal_number(const Value& number, DType dtype);
/// The same for the elements of a constant: Ints if one of them is beyond 2^53.
Value normal_numbers(const Value& numbers, DType dtype);

/// The number that a float dtype holds for x; of other dtypes x itself.
double round_number(double x, DType dtype);

/// Of the numbers that the dtype holds alike, the one with the fewest decimal digits: 0.1 for what
/// f32 has as 0.100000001490116.
double shortest_number(double x, DType dtype);

/// The number near x with the fewest decimal digits, 9 at most, that `alike` takes for x; else x.
double shortest_number(double x, llvm::function_ref<bool(double)> alike);

} // namespace tg
