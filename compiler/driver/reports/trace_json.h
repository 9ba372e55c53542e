// What a search did, as JSON: costs over time, rules over time, the tree, the steps, the report,
// and both graphs with what differs marked. `tg report` draws it (trace_check.h says what it
// reads).
#pragma once

#include "compiler/optimizer/optimize.h"
#include "compiler/search/trace.h"

namespace tg {

/// `rules` are those that trace and chain number; `priors` the file that the search was given. With
/// an end of line.
std::string trace_json(const SearchTrace& trace, const Graph& source, const Optimized& result,
                       llvm::ArrayRef<Rule> rules, llvm::StringRef priors);

} // namespace tg
