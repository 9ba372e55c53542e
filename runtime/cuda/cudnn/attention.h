// Attention as one operation: softmax(q @ k' * scale) @ v over [batch, heads, places, width],
// written in a plan as several steps, becomes one step that cuDNN runs without storing the scores.
// Heads may share keys and values in groups, given by an additional axis.
// Operands are read through the transposes that split heads off,
// and the result is written through the one that joins them, because the library supports any
// strides with the width innermost.
// With a mask it stays two products and a softmax: the library's masked variant (9.14)
// gives different numbers and reads outside its operands (measured on an H100).
//
// There is no such operator: the step is an `extern` named "attention" whose additional attributes
// describe the layout of operands. Only this folder creates and reads it.
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/cudnn/problem.h"

namespace tg::cuda {

/// Returns true for such a step.
bool is_attention(const PlanStep& step);

struct AttentionSizes {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0;
};
/// The heads are those of the queries. `step` must be an attention step.
AttentionSizes sizes_of_attention(const PlanStep& step);

/// `takes` returns true if the library runs such a step; other steps stay unchanged.
EditedPlan fuse_attention(const Plan& plan,
                          const std::function<bool(const Plan&, const PlanStep&)>& takes);

/// Returns the library problem of a step (since 9.13), which the library may refuse.
/// `step` must be an attention step.
DnnProblem attention_problem(const Plan& plan, const PlanStep& step);

/// Returns the problem of an attention that was not fused, from its softmax;
/// nullopt if the softmax is not part of one.
std::optional<DnnProblem> attention_around(const Plan& plan, const PlanStep& softmax);

} // namespace tg::cuda
