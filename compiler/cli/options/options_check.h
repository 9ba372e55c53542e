// What one row of the table cannot say: a form of its own (--cost), and options that need each
// other or exclude each other.
#pragma once

#include "compiler/cli/options/arguments.h"
#include "compiler/cli/options/options.h"

namespace tg::cli {

/// What is wrong with the options together, if anything; fills in what depends on the build.
std::optional<Misuse> check_options(Options& options, llvm::ArrayRef<const OptionRow*> given);

} // namespace tg::cli
