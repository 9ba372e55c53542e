// Protects `tg` against its environment: standard streams that are closed or cannot be written, a
// small address space or stack. Each of these gives a message and an exit code, not a signal.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg::cli {

/// Opens closed descriptors among 0 to 2, so that no file gets their numbers; using one still fails
/// like a closed descriptor. Call before anything is opened.
void open_missing_streams();

/// Flushes standard output. Returns `exit_code`, or 1 if that is 0 and the output could not be
/// written, which is also reported on standard error.
int finish_output(int exit_code);

/// From now on, a failed allocation ends the program with a message and exit code 3, and removes
/// temporary files.
void exit_on_failed_allocation();

/// Calls `body` with a stack of the usual size, even if the shell's limit (`ulimit -s`) is smaller.
/// Threads that start later get one too. Returns the result of `body`.
int with_usual_stack(llvm::function_ref<int()> body);

} // namespace tg::cli
