// `resize` as ONNX's Resize, one node. What the operator set, or the runtimes, do not have of it is
// written axis by axis: as gathers, or products with a matrix of the weights.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "compiler/ir/graph.h"

namespace tg::onnx {

Operand write_resize(NodeWriter& nodes, const Graph& graph, NodeId id, const Operand& x);

} // namespace tg::onnx
