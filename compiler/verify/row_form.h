// Brings both models of a pair into one layout, so that a file whose rows were written as matrices
// has the structure of its source.
#pragma once

#include "compiler/verify/join.h"

namespace tg {

/// Returns the pair with operators that work row by row over matrices [rows, columns], between
/// reshapes. Every element keeps its value.
Joined with_row_form(const Joined& joined);

} // namespace tg
