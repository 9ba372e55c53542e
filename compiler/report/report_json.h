// What an optimisation reports, as JSON: for `--json`, for traces and for the public API.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "compiler/search/trace.h"
#include "tangram/tangram.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// All fields of a report, into an object that is open.
void write_report(llvm::json::OStream& json, const OptimizeReport& report);
/// With the file of priors that the search was given: input, as the model, rules and seed are.
void write_report(llvm::json::OStream& json, const OptimizeReport& report, llvm::StringRef priors);

/// The latter as an object of its own: what `tg opt --json` prints, without an end of line.
std::string report_json(const OptimizeReport& report, llvm::StringRef priors);

/// The chain as it is shown: each step's part of the graph as two small models.
std::vector<tangram::Step> steps_of(const Derivation& chain, llvm::ArrayRef<Rule> rules);

/// A chain of rewrites: [{rule, file, line, backwards, before, after, where}].
void write_chain(llvm::json::OStream& json, llvm::StringRef name,
                 llvm::ArrayRef<tangram::Step> steps);

// What a search did, as JSON: costs over time, rules over time, the tree, the steps, the report,
// and both graphs with what differs marked. `tg report` draws it (compiler/report/trace_check.h
// says what it reads).

/// `rules` are those that trace and chain number; `priors` the file that the search was given. With
/// an end of line.
std::string trace_json(const SearchTrace& trace, const Graph& source, const Optimized& result,
                       llvm::ArrayRef<Rule> rules, llvm::StringRef priors);

} // namespace tg
