// Joins casts around integers of types that Tangram lacks, which the graph knows only by their
// wider carriers: a cast to the carrier and one from it become one cast, or none.
#pragma once

#include "compiler/import/onnx/file/schema.h"

namespace tg::onnx {

/// Invariant: values stay the same; names of the graph's outputs stay defined.
void join_casts(schema::Graph& graph);

} // namespace tg::onnx
