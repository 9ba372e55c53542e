// Attention as one operation: softmax(q @ k' * scale, masked) @ v over [batch, heads, places,
// width], as a plan spells it, becomes one step that cuDNN runs without storing the scores.
// Heads may share keys and values in groups, as an axis of their own says.
// Operands are read through the transposes that split heads off, and the result is written through
// the one that joins them, since the library takes any strides with the width innermost. A mask is
// added to the scaled scores, or hides by a condition: select(mask, scores, -1e9). The library is
// given what is to be added; a condition becomes 0 and the hiding number, at load where it is known
// there (causal masks are).
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

/// The ways to ask the library for it, any of which it may refuse: as one operation (without a
/// mask, since 9.13), and put together from products, sums and functions. `step` must be such a
/// step.
std::vector<DnnProblem> attention_problems(const Plan& plan, const PlanStep& step);

/// Of a softmax within attention that was left as it is; none where it is within none.
std::vector<DnnProblem> attention_around(const Plan& plan, const PlanStep& softmax);

} // namespace tg::cuda
