// Writes every operator of a graph, except leaves, in operators of ONNX.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "compiler/ir/graph.h"

namespace tg::onnx {

/// Writes a node. The operands are in the order of the graph's; absent ones have no name. bf16 is
/// computed in f32 and rounded once, as everywhere in Tangram. Errors: `unsupported`, naming the
/// operator, if ONNX's operators cannot express it.
Result<Operand> write_operator(NodeWriter& nodes, const Graph& graph, NodeId id,
                               llvm::ArrayRef<Operand> operands, bool is_open = false);

} // namespace tg::onnx
