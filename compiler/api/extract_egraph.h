// Extraction from an e-graph in the egraph-serialize JSON form, for `tangram::extract` and
// `tg extract`.
#pragma once

#include "lang/core/result.h"
#include "lang/core/support/stop.h"
#include "tangram/tangram.h"

namespace tg {

/// `stop` is an interrupt or a memory limit; the best choice so far is then the answer. The time
/// limit is that of the options. Errors: `cannot_read`, `bad_egraph_file`; `no_solution`, with the
/// ids of the roots that have none; `limit_no_answer`; `internal` if the answer fails a requested
/// check.
Result<tangram::Extraction> extract_egraph_file(llvm::StringRef path,
                                                const tangram::ExtractOptions& options,
                                                const StopToken& stop);
/// The same for a text; `name` is for messages.
Result<tangram::Extraction> extract_egraph(llvm::StringRef text, llvm::StringRef name,
                                           const tangram::ExtractOptions& options,
                                           const StopToken& stop);

} // namespace tg
