// ONNX operators that replace several operators of the graph. Runtimes have kernels for them, but
// seldom recognise the separate operators.
//
// Invariant: a form computes the value of its root from its operands alone, with the numbers in the
// graph. Inner nodes are written only if something else reads them.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "compiler/ir/graph.h"

#include <optional>

namespace tg::onnx {

struct WrittenForm {
  enum class Kind : uint8_t {
    TanhGelu,    // Hendrycks and Gimpel 2016, section 2
    HardSigmoid, // min(max(alpha * x + beta, 0), 1)
    RmsNorm, // x / sqrt(mean(x * x) + beta) over the last axis, times `scale` by rows if present
    Repeat,  // repeats each element of an image along each axis: Resize
    Stride,  // every n-th element along an axis: Slice
  };
  Kind kind{};
  NodeId x;
  NodeId scale = {};
  double alpha = 1, beta = 0;
  llvm::SmallVector<int64_t, 6> times = {}; // along each axis
  int64_t axis = 0, first = 0, count = 0, step = 1;
};

/// Returns the form with this root, if any. For types other than f32 only forms that move elements
/// are recognised: others take several steps, each with its own rounding.
std::optional<WrittenForm> form_of(const Graph& graph, NodeId root);

/// Writes the form over its operands. `scale` is absent if the form has no scale.
Operand write_form(NodeWriter& nodes, const WrittenForm& form, const TensorType& type,
                   const Operand& x, const Operand& scale);

} // namespace tg::onnx
