// Compares the times of a library's algorithm and a generated kernel for the same steps,
// if both can run them.
#pragma once

#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// The ratio of times below which one is clearly faster. A generated kernel fuses
/// with its neighbours, which a library call does not.
/// So for kernels that make one pass over memory (products of few rows)
/// the library must be clearly faster; for plain loops over terms (convolutions)
/// the generated loop must be.
inline constexpr double kClearlyFaster = 0.9;

/// Returns the microseconds of a generated kernel for these steps alone; an error if there is none.
using TimeGenerated =
    std::function<Result<double>(const Plan& plan, const Group& group, const StridesOf& strides)>;

} // namespace tg::cuda
