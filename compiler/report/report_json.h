// Writes the report of an optimisation as JSON: for `--json`, for traces and for the public API.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "compiler/search/trace.h"
#include "tangram/tangram.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// Writes all fields of a report into an open object.
void write_report(llvm::json::OStream& json, const OptimizeReport& report);
/// Adds the file of priors used by the search: an input, like the model, rules and seed.
void write_report(llvm::json::OStream& json, const OptimizeReport& report, llvm::StringRef priors);

/// Returns the latter as an object: the output of `tg opt --json`, without a newline.
std::string report_json(const OptimizeReport& report, llvm::StringRef priors);

/// Converts a chain for display: each step has its part of the graph as two small models.
std::vector<tangram::Step> steps_of(const Derivation& chain, llvm::ArrayRef<Rule> rules);

/// Writes a chain of rewrites: [{rule, file, line, backwards, before, after, where}].
void write_chain(llvm::json::OStream& json, llvm::StringRef name,
                 llvm::ArrayRef<tangram::Step> steps);

// The trace of a search as JSON: costs over time, rules over time, the tree, the steps, the report,
// and both graphs with marked differences. `tg report` draws it; compiler/report/trace_check.h
// lists the keys it reads.

/// `rules` are those that trace and chain refer to; `priors` is the file that the search used. Ends
/// with a newline.
std::string trace_json(const SearchTrace& trace, const Graph& source, const Optimized& result,
                       llvm::ArrayRef<Rule> rules, llvm::StringRef priors);

} // namespace tg
