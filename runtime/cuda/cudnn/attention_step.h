// The encoding of an attention step (attention.h): the meaning of its attributes and operands.
#pragma once

#include "runtime/cuda/cudnn/attention.h"

namespace tg::cuda {

inline constexpr llvm::StringLiteral kAttentionName = "attention";
/// Attributes: the extern's name and signature, the scale, then dims and strides of each tensor.
enum AttentionSlot : size_t { kScale = 2, kTensors = 3 };
enum AttentionRole : size_t { kQ, kK, kV, kO, kRoles };

} // namespace tg::cuda
