// A graph as people look at it: what runs, with shapes, and the weights of each operator beside it.
// Leaves but inputs, and what is computed at load, are no nodes of their own. Drawn as lines on a
// terminal (graph_rails.cpp), as SVG (graph_layout.h, graph_svg.cpp) or as text for Graphviz.
#pragma once

#include "compiler/ir/graph.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::cli {

struct PictureNode {
  std::string op, type, attrs;
  std::string name;                 // of an input
  std::vector<std::string> weights; // "stem.w: f32[64, 3, 7, 7]", "0.5"
  std::vector<uint32_t> operands;   // places in the list of nodes, before this one
  std::vector<std::string> outputs; // of the model that this node is
  bool changed = false;             // not in the graph that this one is compared with
  std::optional<NodeId> id;         // in the graph that it was made from
  bool input() const { return op == "input"; }
  /// What stands on it: the name of an input, else the operator.
  llvm::StringRef label() const { return input() && !name.empty() ? name : op; }
};

/// Operands come before those that use them.
struct Picture {
  std::string title;
  std::vector<PictureNode> nodes;
};

/// What the outputs need, and inputs.
Picture picture_of(const Graph& graph);

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

} // namespace tg::cli
