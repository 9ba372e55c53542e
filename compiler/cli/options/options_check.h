// Checks that a row of the table cannot express: the form of --cost, and options that require or
// exclude each other.
#pragma once

#include "compiler/cli/options/arguments.h"
#include "compiler/cli/options/options.h"

namespace tg::cli {

/// Returns the first error in the combination of options, if any. Fills in defaults that depend
/// on the build.
std::optional<Misuse> check_options(Options& options, llvm::ArrayRef<const OptionRow*> given);

} // namespace tg::cli
