// Activations that keep NaN. oneDNN's post-ops are made of `max` and `min`, which give their second
// operand where one is NaN: relu of NaN is 0. A pass of our own over every result would read and
// write it once more; but an instruction that meets a NaN and drops it raises the exception of
// invalid operands, and nothing else in a network of finite numbers does. The flag of each thread
// stays up until it is taken. So networks run with oneDNN's activations, the flags are looked at
// behind the run (executable.cpp), and where one is up, the run is done again, from its inputs,
// with activations of our own.
//
// Cost: no byte is read or written. One thread reads two registers (15 ns), two do so in one
// parallel region a run; more than two behind every op that may lose a NaN (a microsecond each). A
// flag that something else raised (infinities that cancel) costs the second run, and no number.
//
// Invariant: an op that may lose a NaN runs on no more threads than it names, and these are asked.
#pragma once

#include "runtime/onednn/handles.h"

namespace tg::cpu {

/// Wraps a primitive with an activation. `pd` and `args` are those that `kernel` was made of.
/// Errors: `device`.
Result<std::unique_ptr<Kernel>> make_guarded_kernel(std::unique_ptr<Kernel> kernel,
                                                    const PrimitiveDescHandle& pd, const Attr& attr,
                                                    llvm::ArrayRef<PrimitiveArg> args,
                                                    dnnl_engine_t engine, int threads);

/// Whether an operation on one of so many threads had operands that are invalid (NaN, or infinities
/// that cancel) since this was last asked.
bool take_invalid_flag(int threads);

} // namespace tg::cpu
