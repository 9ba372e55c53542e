// Checks traces of searches that come from outside (`tg opt --trace`). Another program may have
// written them, and they may be truncated or edited. A valid trace has everything that the page of
// `tg report` reads.
#pragma once

#include "lang/core/result.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// Parses a trace and checks all keys that are read. `path` is for messages, which name the first
/// wrong key. Errors: `bad_trace_file`.
Result<llvm::json::Value> parse_trace(llvm::StringRef text, llvm::StringRef path);

} // namespace tg
