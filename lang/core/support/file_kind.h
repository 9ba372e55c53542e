// The kind of a file by its first bytes, for messages about files that are of another kind than
// their name says.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"

#include <llvm/ADT/StringRef.h>

#include <optional>

namespace tg {

struct FileKind {
  llvm::StringRef what;   // "a GGUF file"
  llvm::StringRef ending; // of its path, ".gguf"; empty where there are several
  llvm::StringRef advice; // what to do about it
};

/// As many bytes of a file as its kind is told from.
inline constexpr size_t kHeadOfKind = 64;

/// nullopt for what begins as no kind that is known, as text does.
std::optional<FileKind> kind_of_file(llvm::StringRef bytes);
/// The same of a file that is there; only its beginning is read.
std::optional<FileKind> kind_of_file_at(llvm::StringRef path);

/// The error of a reader that takes files of the ending `wanted`, with a note where the bytes are
/// those of another kind, text included.
Diagnostic with_kind(Diagnostic error, llvm::StringRef bytes, llvm::StringRef wanted);

} // namespace tg
