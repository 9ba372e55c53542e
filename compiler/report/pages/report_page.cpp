// The pages of `tg report` and of `:graph F.html`: a single HTML file with style and script,
// without any network access. The script draws the charts from the trace in the page. It inserts
// texts of the trace only as text nodes. Graphs are SVG (graph_picture.h); the script lets users
// zoom and pan. Colours are variables with a light and a dark value.
#include "compiler/report/pages/graph_picture.h"

namespace tg::pages {

namespace {

constexpr llvm::StringLiteral kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

constexpr llvm::StringLiteral kStyle =
#include "compiler/report/pages/page.css.inc"
    ;

/// Common to both pages: the theme switch, and drawings that zoom.
constexpr llvm::StringLiteral kShared =
#include "compiler/report/pages/page.js.inc"
    ;

constexpr llvm::StringLiteral kReport =
#include "compiler/report/pages/report.js.inc"
    ;

constexpr llvm::StringLiteral kDrawing =
#include "compiler/report/pages/drawing.js.inc"
    ;

std::string head(llvm::StringRef title) {
  return (kHead + "<title>" + escape_xml(title) + "</title>\n<style>" + kStyle + svg_style() +
          "</style></head>\n")
      .str();
}

/// A drawing that the script inserts into the page.
std::string drawing(const Picture& picture, llvm::StringRef id) {
  if (picture.nodes.empty() || picture.nodes.size() > kMostDrawn) return "";
  return ("<template id=\"" + id + "\">" + svg_text(picture) + "</template>\n").str();
}

/// Escapes JSON for a script element, so that nothing in it can end the element.
std::string for_script(llvm::StringRef json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

} // namespace

std::string report_page(llvm::StringRef json, const Picture& source, const Picture& result) {
  std::string title = source.title.empty() ? "model" : source.title;
  return head(title + " - Tangram, report of a search") + "<body><main id=\"page\"></main>\n" +
         drawing(source, "drawing-source") + drawing(result, "drawing-result") +
         "<script type=\"application/json\" id=\"trace\">" + for_script(json) +
         "</script>\n<script>" + kShared.str() + kReport.str() + "</script>\n</body></html>\n";
}

std::string drawing_page(const Picture& picture) {
  std::string title = picture.title.empty() ? "model" : picture.title;
  return head(title + " - Tangram, a graph") + "<body><main><section><div class=\"top\"><h1>" +
         escape_xml(title) + "</h1></div></section></main>\n" + drawing(picture, "drawing") +
         "<script>" + kShared.str() + kDrawing.str() + "</script>\n</body></html>\n";
}

} // namespace tg::pages
