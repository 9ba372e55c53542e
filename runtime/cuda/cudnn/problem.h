// Convolutions as what cuDNN is asked, with bias, residual and activation as one graph. Whether the
// library takes it, and its plan is faster than a generated kernel, is found out later (tune.h);
// here is only what can be said at all. Pools and norms are not asked for: generated kernels were
// never clearly slower, they fuse, and one engine for pools read outside of its operand (cuDNN 9.14
// on an H100).
#pragma once

#include "runtime/cuda/codegen/pull.h"
#include "runtime/cuda/cudnn/graph.h"

namespace tg::cuda {

/// In DnnProblem::values: a tensor of zeros.
inline constexpr PlanValueId kZeros = UINT32_MAX - 1;

struct DnnProblem {
  DnnGraph graph;
  /// Of each tensor: whose memory it is; kNoValue where it has none.
  std::vector<PlanValueId> values;
};

/// What an attribute holds: extents, strides.
inline Shape sizes(const Value& value) { return {value.ints.begin(), value.ints.end()}; }

/// nullopt where cuDNN has no words for the step: integers, other operators.
std::optional<DnnProblem> dnn_problem(const Plan& plan, const PlanStep& step,
                                      const StridesOf& strides);

/// Strides of [N, C, H, W] with channels last, and of kernels [O, I, kh, kw]
/// that go with it.
Shape channels_last_strides(llvm::ArrayRef<int64_t> shape);

} // namespace tg::cuda
