// Extraction alone, on an e-graph in the egraph-serialize JSON form: `tangram::extract` and
// `tg extract` come this way.
#pragma once

#include "lang/core/result.h"
#include "lang/core/support/stop.h"
#include "tangram/tangram.h"

namespace tg {

/// `stop` is somebody's wish, or a limit of memory: then the best choice so far is the answer; the
/// time limit is that of the options. Errors: `cannot_read`, `bad_egraph_file`; `no_solution`, with
/// the ids of the roots that have none; `limit_no_answer`; `internal` where the answer does not
/// pass a check that was asked for.
Result<tangram::Extraction> extract_egraph_file(llvm::StringRef path,
                                                const tangram::ExtractOptions& options,
                                                const StopToken& stop);
/// The same of a text; `name` is for messages.
Result<tangram::Extraction> extract_egraph(llvm::StringRef text, llvm::StringRef name,
                                           const tangram::ExtractOptions& options,
                                           const StopToken& stop);

} // namespace tg
