// Operators of ONNX that stand for several of the graph: runtimes have kernels for them, and
// recognise them one by one at most.
//
// Invariant: a form computes the value of its root from its operands alone, with the numbers that
// the graph has; what lies between is not written unless something else reads it.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "compiler/ir/graph.h"

#include <optional>

namespace tg::onnx {

struct WrittenForm {
  enum class Kind : uint8_t {
    TanhGelu,    // Hendrycks and Gimpel 2016, section 2
    HardSigmoid, // min(max(alpha * x + beta, 0), 1)
    RmsNorm,     // x / sqrt(mean(x * x) + beta) over the last axis, by rows of `scale` if there are
    Repeat,      // each element of an image so often along each axis: Resize
    Stride,      // every so manyth element along an axis: Slice
  };
  Kind kind{};
  NodeId x;
  NodeId scale = {};
  double alpha = 1, beta = 0;
  llvm::SmallVector<int64_t, 6> times = {}; // along each axis
  int64_t axis = 0, first = 0, count = 0, step = 1;
};

/// What the node is the root of, if anything. Of other types than f32 only what moves elements:
/// others are written in several steps with roundings of their own.
std::optional<WrittenForm> form_of(const Graph& graph, NodeId root);

/// The form over its operands; without a scale, `scale` is none.
Operand write_form(NodeWriter& nodes, const WrittenForm& form, const TensorType& type,
                   const Operand& x, const Operand& scale);

} // namespace tg::onnx
