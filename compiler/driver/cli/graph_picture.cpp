// See graph_picture.h: from graphs, to Graphviz, and files by their ending.
#include "compiler/driver/cli/graph_picture.h"

#include "compiler/driver/cli/report_page.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

bool is_default(const Graph& graph, NodeId id, const AttrInfo& attr, const Value& value) {
  Value plain = default_value(attr);
  if (attr.kind == AttrKind::axis && plain.number < 0 && !graph.operands(id).empty())
    plain.number += graph.type(graph.operands(id)[0]).rank(); // the normal form
  return !attr.required && plain == value;
}

/// "stride = [2, 2], act = relu": what is not the default.
std::string attributes(const Graph& graph, NodeId id) {
  std::string text;
  llvm::ArrayRef<AttrInfo> attrs = op_info(graph.node(id).op).attrs();
  for (size_t slot = 0; slot < attrs.size(); ++slot) {
    const Value& value = graph.attr(id, slot);
    if (is_default(graph, id, attrs[slot], value)) continue;
    text += (text.empty() ? "" : ", ") + std::string(attrs[slot].name) + " = " + value.text_form();
    if (text.size() > 120) return text.substr(0, 117) + "...";
  }
  return text;
}

/// An operand that is known when the model is loaded.
std::string known_operand(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string type = graph.type(id).text();
  if (node.op == OpKind::Weight) return graph.attr(id, 0).text + ": " + type;
  if (node.op == OpKind::Constant && graph.type(id).rank() == 0) {
    std::string text = graph.attr(id, 0).text_form();
    llvm::StringRef value = llvm::StringRef(text).trim("[]");
    return value.str();
  }
  return "at load: " + type; // computed from weights alone
}

void read_operands(const Graph& graph, NodeId id, llvm::ArrayRef<uint32_t> number,
                   PictureNode& node) {
  for (NodeId operand : graph.operands(id)) {
    if (number[operand.index] != UINT32_MAX)
      node.operands.push_back(number[operand.index]);
    else if (graph.node(operand).op != OpKind::None)
      node.weights.push_back(known_operand(graph, operand));
  }
}

} // namespace

Picture picture_of(const Graph& graph) {
  Picture picture{graph.name(), {}};
  std::vector<bool> needed = graph.reachable();
  std::vector<uint32_t> number(graph.size(), UINT32_MAX);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    bool input = node.op == OpKind::Input;
    if (!needed[i] || node.weight_only || (op_info(node.op).has(Trait::Leaf) && !input)) continue;
    number[i] = static_cast<uint32_t>(picture.nodes.size());
    PictureNode made;
    made.op = op_info(node.op).name;
    made.type = graph.type({i}).text();
    if (input)
      made.name = graph.attr({i}, 0).text;
    else
      made.attrs = attributes(graph, {i});
    made.id = NodeId{i};
    read_operands(graph, {i}, number, made);
    picture.nodes.push_back(std::move(made));
  }
  for (const GraphOutput& output : graph.outputs())
    if (uint32_t at = number[output.node.index]; at != UINT32_MAX)
      picture.nodes[at].outputs.push_back(output.name);
  return picture;
}

// --- Graphviz -----------------------------------------------------------------------------------

namespace {

/// `\n` is Graphviz's end of a line.
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
        out += "\xEF\xBF\xBD"; // a control character: XML has none
    }
  }
  return out;
}

Result<std::string> picture_file(const Picture& picture, llvm::StringRef path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  if (ending == ".dot") return dot_text(picture);
  if (ending != ".svg" && ending != ".html")
    return error(Code::usage, "a picture is a .svg, .html or .dot file, not `{0}`", path);
  if (picture.nodes.size() > kMostDrawn)
    return error(Code::usage, "{0} nodes are too many to draw: {1} at most", picture.nodes.size(),
                 kMostDrawn)
        .suggest("a .dot file holds any number");
  if (ending == ".html") return drawing_page(picture);
  std::string svg = svg_text(picture);
  size_t inside = svg.find('>') + 1;
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg.substr(0, inside) + "<style>" +
         svg_style().str() + "</style>" + svg.substr(inside) + "\n";
}

} // namespace tg::cli
