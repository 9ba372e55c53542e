// Names of contents that the load program computes from weights alone,
// such as matrices that a rewrite merged into one. Programs share packed forms of them
// by these names.
#pragma once

#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Returns the names of the contents of the `wanted` buffers after the load program has run.
/// Buffers with the same name, in any programs that name weights in the same way,
/// hold the same bytes in the same places.
/// The name is "" for all other buffers, and if the contents are overwritten or computed
/// by operators other than moves of elements and pointwise operators. Errors:
/// those of the weight source.
Result<std::vector<std::string>> names_of_contents(const Lowering& l,
                                                   const std::vector<bool>& wanted);

} // namespace tg::cpu
