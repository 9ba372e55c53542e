// What a library's algorithm and a generated kernel
// for the same steps take, where both can run them.
#pragma once

#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// By what factor a time has to be less to be clearly less. A generated kernel fuses with its
/// neighbours, which a library call does not: so where it passes over memory once (products of
/// few rows) the library has to be clearly faster; where it is a plain loop over terms
/// (convolutions) the loop has to be.
inline constexpr double kClearlyFaster = 0.9;

/// Microseconds of a generated kernel for these steps alone; an error where there is none.
using TimeGenerated =
    std::function<Result<double>(const Plan& plan, const Group& group, const StridesOf& strides)>;

} // namespace tg::cuda
