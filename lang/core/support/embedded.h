// The .tg files of stdlib/ and rules/, embedded into the program by cmake/embed.cmake, so that they
// are found from any directory.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

namespace tg {

struct EmbeddedFile {
  llvm::StringRef name; // "rules/matmul.tg"
  llvm::StringRef text;
};

/// Sorted by name. Defined in a generated file that is linked into the library `tangram`.
llvm::ArrayRef<EmbeddedFile> embedded_files();

} // namespace tg
