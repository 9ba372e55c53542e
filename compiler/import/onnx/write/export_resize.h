// Writes `resize` as one ONNX Resize node. Modes that the operator set or runtimes lack are written
// axis by axis: as gathers, or as products with a matrix of the weights.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "compiler/ir/graph.h"

namespace tg::onnx {

Operand write_resize(NodeWriter& nodes, const Graph& graph, NodeId id, const Operand& x);

} // namespace tg::onnx
