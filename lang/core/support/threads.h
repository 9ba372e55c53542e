// The number of cores for threads; and independent parts of work,
// each on a thread that lives as long as its part.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstddef>

namespace tg {

/// Returns the number of cores that the calling thread may run on, at least 1.
int available_cores();

/// Runs parts 0 to `count` - 1, the first on this thread and each other part on its own thread,
/// and returns when all are done. A part for which the system has no thread runs on this one,
/// after the first.
/// `finish`, if given, is called after the first part with a function that waits for the others,
/// so that the caller can report that this thread is waiting.
void in_parts(size_t count, llvm::function_ref<void(size_t part)> part,
              llvm::function_ref<void(llvm::function_ref<void()> wait)> finish = nullptr);

} // namespace tg
