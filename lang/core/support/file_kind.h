// Detects the kind of a file by its first bytes, for messages about files whose kind differs
// from their name.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"

#include <llvm/ADT/StringRef.h>

#include <optional>

namespace tg {

struct FileKind {
  llvm::StringRef what;   // "a GGUF file"
  llvm::StringRef ending; // suffix of the path, ".gguf"; empty if there are several
  llvm::StringRef advice; // what the user can do
};

/// The number of bytes that determine the kind of a file.
inline constexpr size_t kHeadOfKind = 64;

/// Returns nullopt for unknown contents, such as text.
std::optional<FileKind> kind_of_file(llvm::StringRef bytes);
/// The same for an existing file; reads only its beginning.
std::optional<FileKind> kind_of_file_at(llvm::StringRef path);

/// Returns the error of a reader of files with the extension `wanted`,
/// with a note if the bytes are of another kind, including text.
Diagnostic with_kind(Diagnostic error, llvm::StringRef bytes, llvm::StringRef wanted);

} // namespace tg
