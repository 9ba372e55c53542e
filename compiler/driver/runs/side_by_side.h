// Several instances of one program at once, each with memory of its own (on a GPU, on a stream of
// its own): what the device carries beside each other, as a server would run it.
#pragma once

#include "runtime/measure/time_runs.h"

namespace tg {

/// Rounds in which every instance runs once, all begun together, each from a thread of its own;
/// the times are those of rounds. Errors: the first instance's that fails.
Result<Timing> time_side_by_side(llvm::ArrayRef<Executable*> instances,
                                 const TimingOptions& options);

} // namespace tg
