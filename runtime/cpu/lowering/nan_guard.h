// Activations that keep NaN. oneDNN's post-ops are made of `max` and `min`, which give their second
// operand where one is NaN: relu of NaN is 0. A pass of our own over every result would read and
// write it once more; but an instruction that meets a NaN and drops it raises the exception of
// invalid operands, and nothing else in a network of finite numbers does. The flag of each thread
// stays up until it is taken. So networks run with oneDNN's activations, the flags are looked at
// behind the run (executable.cpp), and where one is up, the run is done again, from its inputs,
// with activations of our own.
//
// Cost: no byte is read or written; the calling thread reads two registers in each run (15 ns), in
// which the flags of its loops are gathered (thread_pool.h). A flag that something else raised
// (infinities that cancel) causes a second run and changes no number.
#pragma once

#include "runtime/cpu/handles.h"

namespace tg::cpu {

/// Wraps a primitive with an activation. `pd` and `args` are those that `kernel` was made of.
/// Errors: `device`.
Result<std::unique_ptr<Kernel>> make_guarded_kernel(std::unique_ptr<Kernel> kernel,
                                                    const PrimitiveDescHandle& pd, const Attr& attr,
                                                    llvm::ArrayRef<PrimitiveArg> args,
                                                    dnnl_engine_t engine);

/// Returns whether an operation of the calling thread, or of a loop that it ran, had operands that
/// are invalid (NaN, or infinities that cancel) since the last call.
bool take_invalid_flag();
/// Has the next call return true.
void raise_invalid_flag();

} // namespace tg::cpu
