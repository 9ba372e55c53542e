// The backend `cpu`: oneDNN for products, convolutions and pooling, kernels of our own for the
// rest. README.md says what is chosen when, and why.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// Supports every step of f32. Keeps to CompileOptions::threads: with 1, nothing leaves the calling
/// thread.
std::unique_ptr<Backend> make_cpu_backend();

} // namespace tg
