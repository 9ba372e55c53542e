// What an optimisation reports, as JSON: for `--json`, for traces and for the public API.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "tangram/tangram.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// All fields of a report, into an object that is open.
void write_report(llvm::json::OStream& json, const OptimizeReport& report);
/// With the file of priors that the search was given: input, as the model, rules and seed are.
void write_report(llvm::json::OStream& json, const OptimizeReport& report, llvm::StringRef priors);

/// The latter as an object of its own: what `tg opt --json` prints, without an end of line.
std::string report_json(const OptimizeReport& report, llvm::StringRef priors);

/// A chain of rewrites: [{rule, file, line, backwards, before, after, where}].
void write_chain(llvm::json::OStream& json, llvm::StringRef name,
                 llvm::ArrayRef<tangram::Step> steps);

} // namespace tg
