// The backend `cuda`: one GPU, with generated kernels.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// `plan_db`: the file that stores measured plans; "" is the user's cache folder.
/// Errors: `no_backend` names the missing part: a driver, a GPU, NVRTC.
Result<std::unique_ptr<Backend>> make_cuda_backend(const std::string& plan_db = "");

/// Returns the patterns that run as one kernel, without needing a GPU:
/// the epilogues of cuBLASLt and cuDNN, which are bias, residual and relu.
/// Other activations are split into a kernel of their own (lower_products.cpp),
/// so a graph gains nothing by including them.
llvm::ArrayRef<KernelPattern> cuda_patterns();

} // namespace tg
