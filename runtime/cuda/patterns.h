// What the backend `cuda` does in one kernel. Known without a GPU: prices need it, too.
#pragma once

#include "lang/core/kernel_pattern.h"

namespace tg::cuda {

/// The epilogues of cuBLASLt and cuDNN: bias, residual and relu. Other activations are cut off into
/// a kernel of their own (lower_products.cpp), so that a graph gains nothing by naming them.
llvm::ArrayRef<KernelPattern> cuda_patterns();

} // namespace tg::cuda
