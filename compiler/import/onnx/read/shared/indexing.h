// Places in tensors as numbers: negative indices, and elements named by an index of their own, as
// one gather or scatter over all elements in a row.
#pragma once

#include "compiler/import/onnx/read/emitter.h"

namespace tg::onnx {

/// i64 from 0 to size - 1: ONNX's negative indices count from the end.
NodeId from_front(Emitter& e, NodeId indices, int64_t size);

/// Of an index for each element along the axis, as GatherElements and ScatterElements have it: the
/// place of each among all elements of a tensor of this shape in row-major order.
NodeId flat_places(Emitter& e, NodeId indices, Ints shape, int64_t axis);
NodeId gather_elements(Emitter& e, NodeId x, NodeId indices, int64_t axis);

/// The rows that the last axis of `indices` names by their leading indices, as GatherND and
/// ScatterND have it: places of rows, of the shape of the other axes. `batch` leading axes are in
/// step.
NodeId row_places(Emitter& e, NodeId indices, Ints shape, int64_t batch);

} // namespace tg::onnx
