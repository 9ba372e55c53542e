// Chooses loops, vector width and threads for a fused group and fills in its kernel. Vector widths
// are tried from the widest that divides, and the one with the fewest memory instructions and
// divisions an element is kept; rows are cooperative where their elements lie side by side.
#pragma once

#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// Null where the group is none; then `why` says why. `fixed`: tunables to use as they are, where
/// they divide (vector, row_threads) as they must.
std::unique_ptr<Kernel> generate(const Plan& plan, const Group& group, const StridesOf& strides,
                                 std::string& why, const Tunables* fixed = nullptr);

} // namespace tg::cuda
