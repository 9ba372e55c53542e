// The text side of the front end: converts a file's text to its syntax tree.
// Scanner (lexer.l), token layer (tokens.h) and grammar (parser.y) are behind this header.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/diagnostics/source.h"
#include "lang/core/result.h"
#include "lang/syntax/ast.h"

namespace tg {

/// Limits of file size and line length (E0106): larger ones are not written by people.
inline constexpr size_t kMaxFileBytes = size_t{64} << 20;
inline constexpr size_t kMaxLineBytes = size_t{1} << 20;
/// After this number of errors in one file, further errors are not reported.
inline constexpr size_t kMaxSyntaxErrors = 20;

/// Reads a file into `sources`, under the given name. Errors: E0501 missing, a directory,
/// or unreadable; E0503 only blanks; E0107 not UTF-8 text (or with zero bytes);
/// E0106 over the limits above.
Result<FileId> load_file(SourceManager& sources, llvm::StringRef path);

/// The checks of load_file for text from other sources (embedded files, the prompt).
Result<FileId> load_text(SourceManager& sources, std::string name, std::string text);

/// Parses a file. Always returns a well-formed tree; if `sink` got errors,
/// unreadable parts are missing from it, and the tree should be used only for further reports.
/// Linear time in the size of the file. Never throws or crashes, for any bytes.
Ast parse(const SourceManager& sources, FileId file, DiagnosticSink& sink);

} // namespace tg
