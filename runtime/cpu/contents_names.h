// Names of what the load program computes from weights alone, such as matrices that a rewrite
// joined into one: by these names programs share what they pack of it.
#pragma once

#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Names the contents that `wanted` buffers of the load program have once it has run: two of one
/// name, of whatever programs that name weights alike, hold the same bytes in the same places. ""
/// for all others, and where contents are computed by more than moves of elements and pointwise
/// operators, or written over. Errors: those of the weight source.
Result<std::vector<std::string>> names_of_contents(const Lowering& l,
                                                   const std::vector<bool>& wanted);

} // namespace tg::cpu
