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

// A kernel as text: a __global__ function. Its prelude (prelude_device.cuh, prelude.cuh) defines
// the macros and functions that the body uses. With other macros, tests run the same body on the
// processor: every block, and within it every thread, one after the other, pass by pass.
//
// The text depends only on the kernel, so equal kernels have equal text.
// The name is a hash of the body and of the functions that it uses,
// so stored times under that name belong to exactly this code.

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

/// Returns the whole function, for a device.
std::string function_text(const KernelSource& source);

/// Returns the macros of prelude_device.cuh.
llvm::StringRef device_macros();
/// Returns the text that must precede all functions, once. `macros`: those of another target, such
/// as the processor in tests.
std::string prelude_text(llvm::StringRef macros = device_macros());

} // namespace tg::cuda
