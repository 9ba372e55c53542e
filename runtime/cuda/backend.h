// The backend `cuda`: one GPU, kernels of our own.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// Errors: `no_backend` says what is missing: a driver, a GPU, NVRTC.
Result<std::unique_ptr<Backend>> make_cuda_backend();

} // namespace tg
