// Indices that depend on data, in two conventions. ONNX counts an index below 0 from the end
// and leaves indices outside the axis undefined. In Tangram both are out of range and give a
// missing element.
//
//   reading:  i  becomes  select(i < 0, i + size, i)
//             select(j < 0, beyond, j), which no negative index passes, becomes j
//   writing:  the reverse; j that may be negative becomes select(j < 0, size, j)
//
// So reading and writing a file, or writing and reading a graph, leaves it unchanged.
#pragma once

#include "compiler/ir/graph.h"

namespace tg::onnx {

/// Returns i if `indices` is select(i < 0, i + size, i), otherwise an invalid id.
NodeId counted_from_end(const Graph& graph, NodeId indices, int64_t size);

/// Returns j if `indices` is select(j < 0, beyond, j) with `beyond` >= size, otherwise an invalid
/// id.
NodeId kept_from_end(const Graph& graph, NodeId indices, int64_t size);

} // namespace tg::onnx
