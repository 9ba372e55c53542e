// Traces of searches that come from outside (`tg opt --trace`): another program may have written
// them, or they may be cut off or edited. Whether one has all that the page of `tg report` reads.
#pragma once

#include "lang/core/result.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// A trace with all that is read of one. `path` is for messages, which name the first key that is
/// wrong. Errors: `bad_trace_file`.
Result<llvm::json::Value> parse_trace(llvm::StringRef text, llvm::StringRef path);

} // namespace tg
