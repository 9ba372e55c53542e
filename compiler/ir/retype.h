// Converts an f32 graph to compute in a narrower float (bf16, f16). Inputs and outputs of a run
// stay f32, and every operator between works in the narrow dtype.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Returns true if retype() leaves an operator in f32, between casts.
bool stays_wide(OpKind op);

/// Returns the graph with each f32 value of a run computed in `dtype`. Inputs and outputs keep
/// their types, names and order, with casts next to them. Values that depend only on weights are
/// computed in f32 and rounded once, at their use. Minimal filtering (winograd_conv2d), whose
/// transforms lose too many digits, and operators of other libraries stay in f32. Errors:
/// `bad_attribute` if an operator does not support the dtype.
///
/// Finite literals beyond the range of the dtype become its largest finite number (65504 in f16)
/// with their sign, and so do values computed from literals alone: infinity times the zeros of a
/// mask would be NaN. A literal of -1e9 that is added to scores still masks them, because
/// exp(-65504) is 0. If the sum overflows, it is -infinity, which softmax handles if the row has a
/// finite score. A row that is masked everywhere is finite in f32 and may be NaN in f16. Weights
/// and values computed in a run are rounded as usual. For f32 the result is the graph itself.
Result<Graph> retype(const Graph& graph, DType dtype);

} // namespace tg
