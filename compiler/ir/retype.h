// A graph of f32 as one that computes in a narrower float (bf16, f16): what a run is given and
// gives stays f32, and every operator between works in the narrow dtype.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Whether retype() leaves an operator in f32, between casts.
bool stays_wide(OpKind op);

/// The graph with each f32 value that a run computes in `dtype` instead. Inputs and outputs keep
/// their types, names and order; casts stand at them. What depends on weights alone is computed in
/// f32 and rounded once, where it is used. Minimal filtering (winograd_conv2d), whose transforms
/// lose too many digits, and operators of other libraries stay in f32. Errors: `bad_attribute`
/// where an operator refuses the dtype.
///
/// Finite literals beyond the dtype become its largest finite number (65504 in f16), with their
/// sign, and so does what is computed from literals alone: infinity times the zeros of a mask would
/// be NaN. A literal of -1e9 that is added to scores still hides them, since exp(-65504) is 0; if
/// the sum overflows, it is -infinity, which a softmax takes as long as the row has a finite score.
/// A row that is hidden everywhere is finite in f32 and may be NaN in f16. Weights and what is
/// computed in a run are rounded as they are. In f32 it is the graph itself.
Result<Graph> retype(const Graph& graph, DType dtype);

} // namespace tg
