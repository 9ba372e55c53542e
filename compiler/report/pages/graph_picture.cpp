// Implements graph_picture.h: Graphviz, and files by their extension.
#include "compiler/report/pages/graph_picture.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Path.h>

namespace tg::pages {

// --- Graphviz -----------------------------------------------------------------------------------

namespace {

/// `\n` is Graphviz's line break.
std::string dot_string(llvm::ArrayRef<std::string> lines) {
  std::string out = "\"";
  for (const std::string& line : lines) {
    if (out.size() > 1) out += "\\n";
    for (char c : line) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "\"";
}

} // namespace

std::string dot_text(const Picture& picture) {
  std::string out = "digraph " + dot_string(picture.title) +
                    " {\n  node [shape = box, fontname = \"sans-serif\", fontsize = 11]\n";
  for (size_t i = 0; i < picture.nodes.size(); ++i) {
    const PictureNode& node = picture.nodes[i];
    std::vector<std::string> lines = {node.label().str(), node.type};
    llvm::append_range(lines, node.weights);
    for (const std::string& output : node.outputs) lines.push_back("output " + output);
    out += "  n" + std::to_string(i) + " [label = " + dot_string(lines) +
           (node.input() ? ", style = dashed" : "") + "]\n";
  }
  for (size_t i = 0; i < picture.nodes.size(); ++i)
    for (uint32_t operand : picture.nodes[i].operands)
      out += "  n" + std::to_string(operand) + " -> n" + std::to_string(i) + "\n";
  return out + "}\n";
}

// --- files --------------------------------------------------------------------------------------

std::string escape_xml(llvm::StringRef text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    case '\'': out += "&#39;"; break;
    default:
      if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
        out += c;
      else
        out += "\xEF\xBF\xBD"; // control characters are not allowed in XML
    }
  }
  return out;
}

Result<std::string> picture_file(const Picture& picture, llvm::StringRef path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  if (ending == ".dot") return dot_text(picture);
  if (ending != ".svg" && ending != ".html")
    return error(Code::usage, "a picture requires a .svg, .html or .dot file, not `{0}`", path);
  if (picture.nodes.size() > kMostDrawn)
    return error(Code::usage, "{0} nodes are too many to draw (the limit is {1})",
                 picture.nodes.size(), kMostDrawn)
        .suggest("use a .dot file, which has no limit");
  if (ending == ".html") return drawing_page(picture);
  std::string svg = svg_text(picture);
  size_t inside = svg.find('>') + 1;
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg.substr(0, inside) + "<style>" +
         svg_style().str() + "</style>" + svg.substr(inside) + "\n";
}

} // namespace tg::pages
