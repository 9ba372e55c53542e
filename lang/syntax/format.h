// The canonical layout of .tg text: `tg fmt`. Two blanks per level, one statement per line,
// lines of at most 100 columns if the text can be broken, one blank line between declarations
// and at most one between statements. Comments are kept, and so are parentheses around operands,
// grouping by blank lines, blocks written on one line, and aligned `=` signs.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/diagnostics/source.h"
#include "lang/syntax/ast.h"

#include <optional>
#include <string>

namespace tg {

inline constexpr size_t kFormatWidth = 100;

/// Returns the text of a tree that was parsed without errors, with a newline at the end.
/// Parsing it again gives the same tree, and formatting that gives the same text.
std::string format(const Ast& tree, const SourceManager& sources);

/// Parses and formats a file. Returns nullopt if it has errors, which are then in `sink`.
/// The result is parsed again and compared with the tree of the file:
/// a bug of the formatter is reported (E0970) and never reaches the file.
std::optional<std::string> format_file(SourceManager& sources, FileId file, DiagnosticSink& sink);

} // namespace tg
