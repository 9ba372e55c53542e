// Convolutions as cuDNN problems, with bias, residual and activation in one graph.
// Only problems that the library can express are made here; tune.h finds out whether it supports
// them and is faster than a generated kernel.
// Pools and norms are always generated: generated kernels were never clearly slower, they fuse,
// and one of the library's engines for pools reads outside its operand (cuDNN 9.14 on an H100).
#pragma once

#include "runtime/cuda/codegen/pull.h"
#include "runtime/cuda/cudnn/graph.h"

namespace tg::cuda {

/// In DnnProblem::values: a tensor of zeros.
inline constexpr PlanValueId kZeros = UINT32_MAX - 1;

struct DnnProblem {
  DnnGraph graph;
  /// For each tensor, the value in whose memory it is; kNoValue if it has none.
  std::vector<PlanValueId> values;
};

/// Returns the integers of an attribute: extents, strides.
inline Shape sizes(const Value& value) { return {value.ints.begin(), value.ints.end()}; }

/// Returns nullopt if cuDNN cannot express the step: integers, other operators.
std::optional<DnnProblem> dnn_problem(const Plan& plan, const PlanStep& step,
                                      const StridesOf& strides);

/// Returns the strides of [N, C, H, W] with channels last, and of the corresponding kernels [O, I,
/// kh, kw].
Shape channels_last_strides(llvm::ArrayRef<int64_t> shape);

} // namespace tg::cuda
