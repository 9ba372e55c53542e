// The files that searches write for `tg report`.
#pragma once

#include "compiler/driver/cli/session.h"
#include "compiler/optimizer/optimize.h"

namespace tg::cli {

/// The trace of a search as JSON: figures, costs over time, rules over time, the tree, the steps,
/// and both graphs with what differs marked. Errors: `cannot_write`.
Result<void> write_trace(Session& session, const SearchTrace& trace, const Graph& source,
                         const Optimized& result, llvm::ArrayRef<Rule> rules);

} // namespace tg::cli
