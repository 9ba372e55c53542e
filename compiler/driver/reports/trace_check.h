// Whether a trace of a search has all that the page of `tg report` reads, as it reads it: a file
// from outside, which may be of another program, cut off, or edited.
#pragma once

#include "lang/core/result.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// `path` is for messages, which name the first key that is amiss. Errors: `bad_trace_file`.
Result<void> check_trace(const llvm::json::Value& trace, llvm::StringRef path);

} // namespace tg
