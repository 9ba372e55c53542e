// Draws a picture as SVG: boxes with operator, shape and weights, and curves for edges. Numbers
// have one decimal, so that equal graphs give equal text. The widths of texts are estimated
// conservatively. Long texts are truncated; the title of the node has the full text.
#include "compiler/report/pages/graph_layout.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::pages {
namespace {

constexpr size_t kLongestLine = 30, kMostWeights = 3;
constexpr double kLetter = 6.4, kLine = 14, kPadding = 7;

struct Line {
  llvm::StringLiteral style;
  std::string text;
};

size_t letters(llvm::StringRef text) {
  size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

/// Truncates to a number of letters. For weights the end is kept, because it differs most.
std::string shortened(llvm::StringRef text, bool keep_end = false) {
  if (letters(text) <= kLongestLine) return text.str();
  auto inner = [&](size_t at) { // not the first byte of a letter
    return at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  size_t at = keep_end ? text.size() : 0;
  for (size_t kept = 0; kept + 1 < kLongestLine; ++kept) do
      keep_end ? --at : ++at;
    while (inner(at));
  return keep_end ? "…" + text.drop_front(at).str() : text.take_front(at).str() + "…";
}

/// An output without a name is called `output`.
std::string output_text(const std::string& name) {
  return name == "output" ? name : "output " + name;
}

std::vector<Line> lines_of(const PictureNode& node) {
  std::vector<Line> lines;
  lines.push_back({"op", shortened(node.label())});
  lines.push_back({"type", shortened(node.type)});
  size_t shown = node.weights.size() <= kMostWeights + 1 ? node.weights.size() : kMostWeights;
  for (size_t i = 0; i < shown; ++i)
    lines.push_back({"weight", shortened(node.weights[i], /*keep_end=*/true)});
  if (size_t more = node.weights.size() - shown)
    lines.push_back({"weight", std::to_string(more) + " more weights"});
  for (const std::string& output : node.outputs)
    lines.push_back({"out", shortened(output_text(output))});
  return lines;
}

Box box_of(llvm::ArrayRef<Line> lines) {
  size_t longest = 8;
  for (const Line& line : lines) longest = std::max(longest, letters(line.text));
  return {static_cast<double>(longest) * kLetter + 2 * kPadding,
          static_cast<double>(lines.size()) * kLine + kPadding};
}

std::string number(double x) { return llvm::formatv("{0:f1}", x).str(); }

/// Returns the full description of a node, for its title.
std::string whole_text(const PictureNode& node) {
  std::string text = node.label().str() + ": " + node.type;
  if (!node.attrs.empty()) text += "\n" + node.attrs;
  for (const std::string& weight : node.weights) text += "\n" + weight;
  for (const std::string& output : node.outputs) text += "\n" + output_text(output);
  if (node.changed) text += "\nnot in the other graph";
  return text;
}

std::string edge(const Route& route) {
  std::string path;
  for (const Route::Piece& p : route.pieces) {
    if (path.empty()) path = "M" + number(p.x0) + " " + number(p.y0);
    double bend = (p.y1 - p.y0) / 2;
    if (p.x0 == p.x1)
      path += "V" + number(p.y1);
    else
      path += "C" + number(p.x0) + " " + number(p.y0 + bend) + " " + number(p.x1) + " " +
              number(p.y1 - bend) + " " + number(p.x1) + " " + number(p.y1);
  }
  return "<path class=\"edge\" data-from=\"" + std::to_string(route.from) + "\" data-to=\"" +
         std::to_string(route.to) + "\" d=\"" + path + "\"/>\n";
}

std::string box(const PictureNode& node, size_t index, Place at, Box size,
                llvm::ArrayRef<Line> lines) {
  std::string text = "<g class=\"node";
  if (node.changed) text += " changed";
  if (node.input()) text += " input";
  text += "\" data-node=\"" + std::to_string(index) + "\"><title>" + escape_xml(whole_text(node)) +
          "</title><rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" +
          number(size.width) + "\" height=\"" + number(size.height) + "\" rx=\"4\"/>";
  for (size_t i = 0; i < lines.size(); ++i)
    text += "<text class=\"" + lines[i].style.str() + "\" x=\"" + number(at.x + size.width / 2) +
            "\" y=\"" + number(at.y + kLine * static_cast<double>(i + 1)) + "\">" +
            escape_xml(lines[i].text) + "</text>";
  return text + "</g>\n";
}

} // namespace

std::string svg_text(const Picture& picture, llvm::StringRef id) {
  std::vector<std::vector<Line>> lines;
  std::vector<Box> boxes;
  for (const PictureNode& node : picture.nodes) {
    lines.push_back(lines_of(node));
    boxes.push_back(box_of(lines.back()));
  }
  Layout layout = compute_layout(picture, boxes);
  std::string w = number(layout.width), h = number(layout.height);
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\"";
  if (!id.empty()) text += (" id=\"" + id + "\"").str();
  text += " aria-label=\"" + escape_xml("operators of " + picture.title) + "\" width=\"" + w +
          "\" height=\"" + h + "\" viewBox=\"0 0 " + w + " " + h + "\">\n";
  for (const Route& route : layout.routes) text += edge(route);
  for (size_t i = 0; i < picture.nodes.size(); ++i)
    text += box(picture.nodes[i], i, layout.places[i], boxes[i], lines[i]);
  return text + "</svg>";
}

llvm::StringRef svg_style() {
  return R"css(
svg.graph{--paper:#fff;--ink:#1d2330;--faint:#5b6472;--rule:#8b94a3;--flow:#9aa3b2;--mark:#c2410c;--marked:#ffe6d8;background:var(--paper);font:11px system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]) svg.graph,svg.graph:root{--paper:#14181f;--ink:#e6e9ef;--faint:#a3adbd;--rule:#5d6878;--flow:#66718a;--mark:#ff9a5c;--marked:#472a1b}}
:root[data-theme=dark] svg.graph{--paper:#14181f;--ink:#e6e9ef;--faint:#a3adbd;--rule:#5d6878;--flow:#66718a;--mark:#ff9a5c;--marked:#472a1b}
svg.graph text{fill:var(--ink);text-anchor:middle}
svg.graph .op{font-weight:600}svg.graph .type,svg.graph .weight,svg.graph .out{font-size:10.5px;fill:var(--faint)}
svg.graph .weight{font-style:italic}svg.graph .out{font-weight:600}
svg.graph .edge{fill:none;stroke:var(--flow);stroke-width:1.2}
svg.graph .node rect{fill:var(--paper);stroke:var(--rule)}
svg.graph .node.input rect{stroke-dasharray:4 3}
svg.graph .node.changed rect{fill:var(--marked);stroke:var(--mark);stroke-width:1.5}
svg.graph .node:hover rect{stroke:var(--ink);stroke-width:2}svg.graph .edge.lit{stroke:var(--mark);stroke-width:2.4}
)css";
}

} // namespace tg::pages
