// Rows of sequences and images as matrices. Runtimes have one kernel for a product of matrices and
// its bias (Gemm); of more axes ONNX has but MatMul and Add, and ONNX Runtime makes of them a Gemm
// between two reshapes each time. What goes row by row is therefore written over matrices [rows,
// columns] from the first product to the last, with reshapes at its ends alone, wherever these are
// fewer. The ends are where the fewest values cross: sums of several values before a norm stay as
// they are.
#pragma once

#include "compiler/ir/graph.h"

namespace tg::onnx {

/// The same outputs. Attributes and types of what is not on the way are as they were.
Graph flatten_rows(const Graph& graph);

} // namespace tg::onnx
