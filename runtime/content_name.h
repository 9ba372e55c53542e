// Names of contents: byte strings with the same name are equal.
//
// A fixed hash function cannot guarantee this, because colliding contents can be constructed (for
// xxHash64 by solving one equation).
// Here the function is drawn at random from a universal family on first use in the process.
// Two different contents of n bytes get the same name with a probability of at most 2^-64 + (n /
// 2^66)^2, which is 2^-63.9 for 4 GiB.
// Contents cannot be chosen with knowledge of the function. Names are valid only within this
// process: do not store them.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg {

/// Returns the name of the bytes, which depends on their number too.
/// Runs at about memory bandwidth.
std::string content_name(llvm::StringRef bytes);

} // namespace tg
