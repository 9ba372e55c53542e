// Chooses loops, vector width and threads for a fused group and fills in its kernel.
// Vector widths are tried from the widest that divides, and the one with the fewest memory
// instructions and divisions per element is used. Threads share rows whose elements are contiguous.
#pragma once

#include "runtime/cuda/codegen/kernel.h"
#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// Returns null if the group cannot be one kernel; `why` is the reason. `fixed`:
/// tunables to use unchanged where they divide (vector, row_threads) as required.
std::unique_ptr<Kernel> generate(const Plan& plan, const Group& group, const StridesOf& strides,
                                 std::string& why, const Tunables* fixed = nullptr);

// A kernel as text. The body is the same for both targets. They differ in the prelude
// (source_prelude.h), which defines the macros and functions that the body uses, and in the header:
//
//   Cuda  a __global__ function: the threads of a block run the body in parallel
//   Cpp   a function that runs every block, and within it every thread, one after the other, pass
//         by pass, so that tests execute exactly the loops that a device would
//
// The text depends only on the kernel, so equal kernels have equal text.
// The name is a hash of the body and of the functions that it uses,
// so stored times under that name belong to exactly this code.

enum class Target : uint8_t { Cuda, Cpp };

struct KernelSource {
  std::string name;       // "tg_" and 16 hexadecimal digits
  std::string parameters; // dtypes of the parameters, e.g. "f32*, const f32*"
  std::string body;
  int threads = 1;
  /// The number of blocks that a multiprocessor must be able to hold, which limits their registers.
  /// 0: the compiler decides.
  int blocks_at_once = 0;
  int cluster = 1; // blocks that share the sums of a tile, on GPUs with clusters
};

KernelSource kernel_source(Kernel& kernel);

/// Returns the whole function. C++ functions are `void NAME(void** parameters, int blocks)`.
std::string function_text(const KernelSource& source, Target target);
/// Returns the text that must precede all functions, once.
std::string prelude_text(Target target);

} // namespace tg::cuda
