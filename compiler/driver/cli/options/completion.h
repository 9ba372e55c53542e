// Completion scripts of shells and the man page, from the tables of commands and options.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg::cli {

/// `shell` is one of those that --completion takes.
std::string completion_script(llvm::StringRef shell);
/// tg.1, for man.
std::string manual_page();

} // namespace tg::cli
