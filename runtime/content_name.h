// Names of contents: bytes that have one name are the same bytes.
//
// A fixed hash function does not say that: contents that collide can be written down (for xxHash64
// by solving one equation). Here the function is drawn at random from a universal family when the
// process first asks. Whatever two different contents of n bytes are, they get one name with a
// probability of at most 2^-64 + (n / 2^66)^2, which for 4 GiB is 2^-63.9, and contents cannot be
// chosen with knowledge of the function. Names are valid in this process alone: do not keep them.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg {

/// Names bytes, their number included. About as fast as memory is read.
std::string content_name(llvm::StringRef bytes);

} // namespace tg
