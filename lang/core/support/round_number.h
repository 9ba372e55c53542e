// Numbers as dtypes hold them: rounded to nearest even, and their shortest decimal text.
#pragma once

#include "lang/core/type.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// The number that a float dtype holds for x; of other dtypes x itself.
double round_number(double x, DType dtype);

/// Of the numbers that the dtype holds alike, the one with the fewest decimal digits: 0.1 for what
/// f32 has as 0.100000001490116.
double shortest_number(double x, DType dtype);

/// The number near x with the fewest decimal digits, 9 at most, that `alike` takes for x; else x.
double shortest_number(double x, llvm::function_ref<bool(double)> alike);

} // namespace tg
