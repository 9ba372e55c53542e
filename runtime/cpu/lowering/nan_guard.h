// Activations that propagate NaN. oneDNN's post-ops consist of `max` and `min`,
// which return their second operand if one is NaN: relu of NaN is 0.
// A separate pass over every result would read and write it once more.
// But an instruction that drops a NaN raises the exception for invalid operands,
// and nothing else in a network of finite numbers does. The flag of each thread stays set until it
// is cleared.
// So networks run with oneDNN's activations, the flags are checked after the run (executable.cpp),
// and if one is set, the run is repeated from its inputs with our own activations.
//
// Cost: no byte is read or written. The calling thread reads two registers in each run (15 ns),
// which collect the flags of its loops (thread_pool.h). A flag raised by another cause (infinities
// that cancel) triggers a second run, and changes no number.
#pragma once

#include "runtime/cpu/handles.h"

namespace tg::cpu {

/// Wraps a primitive with an activation. `kernel` was made from `pd` and `args`. Errors: `device`.
Result<std::unique_ptr<Kernel>> make_guarded_kernel(std::unique_ptr<Kernel> kernel,
                                                    const PrimitiveDescHandle& pd, const Attr& attr,
                                                    llvm::ArrayRef<PrimitiveArg> args,
                                                    dnnl_engine_t engine);

/// Returns true if an operation of the calling thread, or of a loop that it ran,
/// had invalid operands (NaN, or infinities that cancel) since the last call.
bool take_invalid_flag();
/// Makes the next call return true.
void raise_invalid_flag();

} // namespace tg::cpu
