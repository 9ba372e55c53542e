// Chooses loops, vector width and threads for a fused group and fills in its kernel. Vector widths
// are tried from the widest that divides, and the one with the fewest memory instructions and
// divisions an element is kept; rows are cooperative where their elements lie side by side.
#pragma once

#include "runtime/cuda/codegen/kernel.h"
#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// Null where the group is none; then `why` says why. `fixed`: tunables to use as they are, where
/// they divide (vector, row_threads) as they must.
std::unique_ptr<Kernel> generate(const Plan& plan, const Group& group, const StridesOf& strides,
                                 std::string& why, const Tunables* fixed = nullptr);

// A kernel as text. The body is one and the same for both targets; what differs is the prelude
// (source_prelude.h), which defines the macros and functions that the body uses, and the header:
//
//   Cuda  a __global__ function: threads of a block run the body side by side
//   Cpp   a function that runs every block, and within it every thread, one after the other, pass
//         by pass: so tests execute exactly the loops that a device would
//
// The text depends on the kernel alone, so equal kernels are one: the name is a hash of the body,
// and of the functions that it uses, so that times kept under it are of what runs.

enum class Target : uint8_t { Cuda, Cpp };

struct KernelSource {
  std::string name;       // "tg_" and 16 hexadecimal digits
  std::string parameters; // dtypes of the parameters, e.g. "f32*, const f32*"
  std::string body;
  int threads = 1;
  /// Blocks that a multiprocessor must be able to hold: it has so many registers, and no more, for
  /// them. 0: as many as the compiler likes.
  int blocks_at_once = 0;
  int cluster = 1; // blocks that share a tile's sums, on GPUs that have clusters
};

KernelSource kernel_source(Kernel& kernel);

/// The whole function. C++ functions are `void NAME(void** parameters, int blocks)`.
std::string function_text(const KernelSource& source, Target target);
/// What must stand before functions, once.
std::string prelude_text(Target target);

} // namespace tg::cuda
