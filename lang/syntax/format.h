// The canonical layout of .tg text: `tg fmt`. Two blanks a level, one statement a line, lines of at
// most 100 columns where the text can be broken, one blank line between declarations and at most
// one between statements. Every comment is kept, and so are parentheses around operands, the
// grouping by blank lines, a block that was written on one line, and `=` signs that were aligned.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/diagnostics/source.h"
#include "lang/syntax/ast.h"

#include <optional>
#include <string>

namespace tg {

inline constexpr size_t kFormatWidth = 100;

/// The text of a tree that was read without errors, with a newline at the end. Reading it again
/// gives the same tree, and formatting that the same text.
std::string format(const Ast& tree, const SourceManager& sources);

/// Parses and formats a file. Nothing if it has errors, which are then in `sink`. The result has
/// been read again and compared with the tree of the file: a fault of the formatter is reported
/// (E0970) and never reaches the file.
std::optional<std::string> format_file(SourceManager& sources, FileId file, DiagnosticSink& sink);

} // namespace tg
