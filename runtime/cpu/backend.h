// The backend `cpu`: oneDNN for products, convolutions and pooling,
// own kernels for the other operators. README.md explains the choices.
#pragma once

#include "lang/core/kernel_pattern.h"
#include "runtime/backend.h"

namespace tg {

/// The kernels that run f32 products and convolutions. Chosen: by rule, as for users. Library:
/// oneDNN's. Tiles: ours wherever the processor supports them. Avx2Tiles:
/// for products, the AVX2 kernels even if better ones exist. All but Chosen are for comparisons
/// and tests.
/// `Reference` runs every operator by its definition, between the conversions
/// that its own kernel would have.
enum class Products : uint8_t { Chosen, Library, Tiles, Avx2Tiles, Reference };

/// Supports every step of f32. Respects CompileOptions::threads:
/// with 1, everything runs on the calling thread.
std::unique_ptr<Backend> make_cpu_backend(Products products = Products::Chosen);

/// Returns the patterns that run as one kernel, without needing a device,
/// because prices need them too. Convolutions and products of oneDNN have bias, residual (`sum`)
/// and every activation as post-ops; our own Winograd kernels apply them when they write the
/// result.
llvm::ArrayRef<KernelPattern> cpu_patterns();

} // namespace tg
