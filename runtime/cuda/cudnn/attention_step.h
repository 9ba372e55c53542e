// How an attention step says what it is (attention.h): which attribute and which operand is what.
#pragma once

#include "runtime/cuda/cudnn/attention.h"

namespace tg::cuda {

inline constexpr llvm::StringLiteral kAttentionName = "attention";
/// Attributes: the extern's name and signature, the scale, then dims and strides of each tensor, of
/// the mask, too.
enum AttentionSlot : size_t { kScale = 2, kTensors = 3 };
enum AttentionRole : size_t { kQ, kK, kV, kO, kRoles, kMask = kRoles };
/// Operands after q, k and v; kNoValue where there is none, and until the plan is written.
enum AttentionOperand : size_t { kFactor = 3, kAdded = 4 };

inline bool is_masked(const PlanStep& step) { return step.attrs.size() > kTensors + 2 * kRoles; }

} // namespace tg::cuda
