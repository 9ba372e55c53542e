// The entry to the front end's text side: a file's text to its syntax tree. Scanner (lexer.l),
// token layer (tokens.h) and grammar (parser.y) lie behind this header.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/diagnostics/source.h"
#include "lang/core/result.h"
#include "lang/syntax/ast.h"

namespace tg {

/// Larger files and longer lines are refused (E0106): no person wrote them.
inline constexpr size_t kMaxFileBytes = size_t{64} << 20;
inline constexpr size_t kMaxLineBytes = size_t{1} << 20;
/// After so many errors in one file the rest of it is not reported.
inline constexpr size_t kMaxSyntaxErrors = 20;

/// Reads a file into `sources`, under the name as given. Errors: E0501 missing, a directory, or
/// unreadable; E0503 nothing but blanks in it; E0107 not UTF-8 text (or with zero bytes); E0106
/// over the limits above.
Result<FileId> load_file(SourceManager& sources, llvm::StringRef path);

/// The checks of load_file on text from elsewhere (embedded files, the prompt).
Result<FileId> load_text(SourceManager& sources, std::string name, std::string text);

/// Parses a file. Always returns a well-formed tree; if `sink` got errors, what could not be read
/// is missing from it, and the tree should be used only for more reports. Linear time in the size
/// of the file. Never throws, never crashes, whatever the bytes.
Ast parse(const SourceManager& sources, FileId file, DiagnosticSink& sink);

} // namespace tg
