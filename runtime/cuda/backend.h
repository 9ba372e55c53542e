// The backend `cuda`: one GPU, kernels of our own.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// `plan_db`: the file in which measured plans are kept; "" = the user's cache folder.
/// Errors: `no_backend` says what is missing: a driver, a GPU, NVRTC.
Result<std::unique_ptr<Backend>> make_cuda_backend(const std::string& plan_db = "");

/// What it does in one kernel, known without a GPU: the epilogues of cuBLASLt and cuDNN, which are
/// bias, residual and relu. Other activations are cut off into a kernel of their own
/// (lower_products.cpp), so that a graph gains nothing by naming them.
llvm::ArrayRef<KernelPattern> cuda_patterns();

} // namespace tg
