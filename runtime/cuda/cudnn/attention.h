// Attention as one operation: softmax(q @ k' * scale) @ v over [batch, heads, places,
// width], as a plan spells it, becomes one step that cuDNN runs without storing the scores.
// Heads may share keys and values in groups, as an axis of their own says.
// Operands are read through the transposes that split heads off, and the result is written through
// the one that joins them, since the library takes any strides with the width innermost. With a
// mask it stays two products around a softmax: what the library offers for those (9.14) gives other
// numbers, and reads outside of its operands (measured on an H100).
//
// There is no such operator: the step is an `extern` named "attention" whose attributes beyond the
// operator's own say how operands lie. Only this folder makes and reads it.
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/cudnn/problem.h"

namespace tg::cuda {

/// Is it such a step?
bool is_attention(const PlanStep& step);

struct AttentionSizes {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0;
};
/// Heads as queries have them. `step` must be such a step.
AttentionSizes sizes_of_attention(const PlanStep& step);

/// `takes` says whether the library runs such a step; what it does not stays as it is.
EditedPlan fuse_attention(const Plan& plan,
                          const std::function<bool(const Plan&, const PlanStep&)>& takes);

/// What the library is asked for it (since 9.13), which it may refuse. `step` must be such a step.
DnnProblem attention_problem(const Plan& plan, const PlanStep& step);

/// Of a softmax within attention that was left as it is; none where it is within none.
std::optional<DnnProblem> attention_around(const Plan& plan, const PlanStep& softmax);

} // namespace tg::cuda
