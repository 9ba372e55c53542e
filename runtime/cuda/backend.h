// The backend `cuda`: one GPU, kernels of our own.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// `plan_db`: the file in which measured plans are kept; "" = the user's cache folder.
/// Errors: `no_backend` says what is missing: a driver, a GPU, NVRTC.
Result<std::unique_ptr<Backend>> make_cuda_backend(const std::string& plan_db = "");

} // namespace tg
