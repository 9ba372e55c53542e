// Graphs as people look at them (report/picture.h), drawn: as lines on a terminal
// (graph_rails.cpp), as SVG (graph_layout.h, graph_svg.cpp) or as text for Graphviz.
#pragma once

#include "compiler/report/picture.h"
#include "lang/core/result.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace tg::pages {

/// One line an operator; what it reads comes down to it in the columns at the left.
void draw_rails(llvm::raw_ostream& out, const Picture& picture, bool color);
/// For Graphviz.
std::string dot_text(const Picture& picture);
/// An <svg> element, styled by the classes of svg_style(). Larger graphs than `kMostDrawn` nodes
/// take long and show nothing; who calls asks before.
std::string svg_text(const Picture& picture, llvm::StringRef id = "");
inline constexpr size_t kMostDrawn = 2500;
/// The style of the drawings, light and dark: CSS.
llvm::StringRef svg_style();
/// A file of its own: .svg, .html (zoom and pan) or .dot, by the ending. Errors: `usage`.
Result<std::string> picture_file(const Picture& picture, llvm::StringRef path);

/// Text between tags and in attributes of HTML and SVG.
std::string escape_xml(llvm::StringRef text);

// The page of `tg report`, and that of a single drawing.

/// `json` is the trace, checked; the pictures are its graphs.
std::string report_page(llvm::StringRef json, const Picture& source, const Picture& result);
/// The same, of a trace that parse_trace() has read.
std::string trace_page(const llvm::json::Value& trace);
/// A page with nothing but one drawing.
std::string drawing_page(const Picture& picture);

} // namespace tg::pages
