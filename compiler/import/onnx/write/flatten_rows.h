// Writes rows of sequences and images as matrices. Runtimes have one kernel for a product of
// matrices and its bias (Gemm). For tensors of more axes ONNX has only MatMul and Add, which ONNX
// Runtime turns into a Gemm between two reshapes each time. So operators that work row by row are
// written over matrices [rows, columns], from the first product to the last, with reshapes only at
// the ends, if this takes fewer reshapes. The ends are placed where the fewest values cross: sums
// of several values before a norm are not changed.
#pragma once

#include "compiler/ir/graph.h"

namespace tg::onnx {

/// Returns a graph with the same outputs. Attributes and types of other nodes are unchanged.
Graph flatten_rows(const Graph& graph);

} // namespace tg::onnx
