// Casts around integers of types that Tangram does not have, of which the graph knows the wider
// carriers alone: a cast to the carrier and one from it become one cast, or none.
#pragma once

#include "compiler/import/onnx/file/schema.h"

namespace tg::onnx {

/// Invariant: values stay the same; a name that the graph gives as an output stays defined.
void join_casts(schema::Graph& graph);

} // namespace tg::onnx
