// A graph of f32 as one that computes in a narrower float (bf16, f16): what a run is given and
// gives stays f32, and every operator between works in the narrow dtype.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// The graph with each f32 value that a run computes in `dtype` instead. Inputs and outputs keep
/// their types, names and order; casts stand at them. What depends on weights alone is computed in
/// f32 and rounded once, where it is used. Minimal filtering (winograd_conv2d), whose transforms
/// lose too many digits, and operators of other libraries stay in f32. Errors: `bad_attribute`
/// where an operator refuses the dtype.
Result<Graph> retype(const Graph& graph, DType dtype);

} // namespace tg
