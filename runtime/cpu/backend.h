// The backend `cpu`: oneDNN for products, convolutions and pooling, kernels of our own for the
// rest. README.md says what is chosen when, and why.
#pragma once

#include "lang/core/kernel_pattern.h"
#include "runtime/backend.h"

namespace tg {

/// Whose kernels products and convolutions of f32 run on: chosen by rule, which is what users get;
/// or, for comparisons and tests, oneDNN's, or ours wherever the processor can run them; of
/// products, those of AVX2 where there are better ones. `Reference` runs every operator by its
/// definition, between the conversions that its own kernel would have.
enum class Products : uint8_t { Chosen, Library, Tiles, Avx2Tiles, Reference };

/// Supports every step of f32. Keeps to CompileOptions::threads: with 1, nothing leaves the calling
/// thread.
std::unique_ptr<Backend> make_cpu_backend(Products products = Products::Chosen);

/// What it does in one kernel, known without a device: prices need it, too. Convolutions and
/// products of oneDNN take bias, residual (`sum`) and every activation as post-ops; our own kernels
/// of minimal filtering do the same on the way out.
llvm::ArrayRef<KernelPattern> cpu_patterns();

} // namespace tg
