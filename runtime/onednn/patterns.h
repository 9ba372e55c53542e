// What the backend `cpu` does in one kernel. Known without a device: prices need it, too.
#pragma once

#include "lang/core/kernel_pattern.h"

namespace tg {

/// Convolutions and products of oneDNN take bias, residual (`sum`) and every activation as
/// post-ops; our own kernels of minimal filtering do the same on the way out.
llvm::ArrayRef<KernelPattern> cpu_patterns();

} // namespace tg
