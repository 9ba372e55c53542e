// Indices that data decide, in two conventions. ONNX counts an index below 0 from the end and
// leaves one outside of the axis open; here both are out of range, and give a missing element.
//
//   read:     i  becomes  select(i < 0, i + size, i)
//             select(j < 0, beyond, j), which no negative index passes, becomes j
//   written:  the same backwards; j that may be negative becomes select(j < 0, size, j)
//
// So a file that is read and written again is the same, and so is a graph.
#pragma once

#include "compiler/ir/graph.h"

namespace tg::onnx {

/// Returns i if `indices` is select(i < 0, i + size, i), otherwise an invalid id.
NodeId counted_from_end(const Graph& graph, NodeId indices, int64_t size);

/// Returns j if `indices` is select(j < 0, beyond, j) with `beyond` >= size, otherwise an invalid
/// id.
NodeId kept_from_end(const Graph& graph, NodeId indices, int64_t size);

} // namespace tg::onnx
