// Positions in tensors as numbers: negative indices, and elements with an index each, as one gather
// or scatter over all elements in a row.
#pragma once

#include "compiler/import/onnx/read/emitter.h"

namespace tg::onnx {

/// Returns i64 from 0 to size - 1; ONNX's negative indices count from the end.
NodeId from_front(Emitter& e, NodeId indices, int64_t size);

/// For GatherElements and ScatterElements, which have an index along the axis for each element:
/// returns the position of each among all elements of a tensor of this shape in row-major order.
NodeId flat_places(Emitter& e, NodeId indices, Ints shape, int64_t axis);
NodeId gather_elements(Emitter& e, NodeId x, NodeId indices, int64_t axis);

/// For GatherND and ScatterND, where the last axis of `indices` has the leading indices of
/// rows: returns the positions of the rows, in the shape of the other axes. `batch` leading
/// axes are shared.
NodeId row_places(Emitter& e, NodeId indices, Ints shape, int64_t batch);

} // namespace tg::onnx
