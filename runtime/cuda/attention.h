// Attention as one operation: softmax(q @ k' * scale) @ v over [batch, heads, places, width], as a
// plan spells it, becomes one step that cuDNN runs without storing the scores. Operands are read
// through the transposes that split heads off, and the result is written through the one that joins
// them, since the library takes any strides with the width innermost.
//
// There is no such operator: the step is an `extern` named "attention" whose attributes beyond the
// operator's own say how operands lie. Only this folder makes and reads it.
#pragma once

#include "runtime/cuda/cudnn_problem.h"
#include "runtime/cuda/plan_edit.h"

namespace tg::cuda {

/// Is it such a step?
bool is_attention(const PlanStep& step);

/// `takes` says whether the library runs such a step; what it does not stays as it is.
EditedPlan fuse_attention(const Plan& plan,
                          const std::function<bool(const Plan&, const PlanStep&)>& takes);

/// What the library is asked; `step` must be such a step.
DnnProblem attention_problem(const Plan& plan, const PlanStep& step);

} // namespace tg::cuda
