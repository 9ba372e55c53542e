// The surroundings in which `tg` may be started: standard streams that are closed or cannot be
// written, an address space or a stack that is small. Each ends in a message and an exit code, not
// in a signal.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg::cli {

/// Opens each of the descriptors 0 to 2 that is closed, so that no file gets its number; using one
/// still fails as on a closed descriptor. Call before anything is opened.
void open_missing_streams();

/// Flushes standard output. Returns `exit_code`, or 1 where that is 0 and the output could not be
/// written, which is also reported on standard error.
int finish_output(int exit_code);

/// From here on, memory that cannot be had ends the program with a message and exit code 3,
/// without temporary files.
void end_where_memory_ends();

/// Calls `body` with a stack of the usual size, and gives threads that start later one, too, even
/// if the limit of the shell (`ulimit -s`) is smaller. Returns the result of `body`.
int with_usual_stack(llvm::function_ref<int()> body);

} // namespace tg::cli
