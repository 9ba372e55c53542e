// Names in the text of a statement: which it binds, which it reads, and the same text with one of
// them called otherwise. Names of arguments (`f(y = 1)`), callees and what follows `as` are none.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg::cli {

/// Whether the statement reads or assigns the name; what `let`, `var` or `param` binds is not read.
bool mentions(llvm::StringRef statement, llvm::StringRef name);
/// Wherever it is read or assigned.
std::string rename_uses(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to);
/// Where `let`, `var` or `param` binds it.
std::string rename_target(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to);

} // namespace tg::cli
