// Draws pictures of graphs (report/picture.h): as lines on a terminal (graph_rails.cpp), as SVG
// (graph_layout.h, graph_svg.cpp) or as Graphviz text.
#pragma once

#include "compiler/report/picture.h"
#include "lang/core/result.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace tg::pages {

/// Draws one line per operator; values come down to their readers in columns at the left.
void draw_rails(llvm::raw_ostream& out, const Picture& picture, bool color);
/// Returns Graphviz text.
std::string dot_text(const Picture& picture);
/// Returns an <svg> element, styled by the classes of svg_style(). Callers must check `kMostDrawn`,
/// because drawings with more nodes take long and are unreadable.
std::string svg_text(const Picture& picture, llvm::StringRef id = "");
inline constexpr size_t kMostDrawn = 2500;
/// Returns the CSS of the drawings, light and dark.
llvm::StringRef svg_style();
/// Returns a complete file by its extension: .svg, .html (zoom and pan) or .dot. Errors: `usage`.
Result<std::string> picture_file(const Picture& picture, llvm::StringRef path);

/// Escapes text for HTML and SVG elements and attributes.
std::string escape_xml(llvm::StringRef text);

// The page of `tg report`, and that of a single drawing.

/// `json` is the trace, already checked; the pictures are its graphs.
std::string report_page(llvm::StringRef json, const Picture& source, const Picture& result);
/// The same for a trace that parse_trace() has read.
std::string trace_page(const llvm::json::Value& trace);
/// Returns a page with a single drawing.
std::string drawing_page(const Picture& picture);

} // namespace tg::pages
