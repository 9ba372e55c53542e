// What other programs call the commands and options of this one.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tg::cli {

/// For a command that there is none of (`optimize`, `diff`): what to write, as a sentence; or "".
llvm::StringRef idiom_of_command(llvm::StringRef word);

/// For an option (`--timeout`): the one that is meant, if the command has it; or "".
llvm::StringRef idiom_of_option(llvm::StringRef word);

} // namespace tg::cli
