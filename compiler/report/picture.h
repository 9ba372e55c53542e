// A graph for display: the operators that run, with shapes and the weights of each. Inputs are
// nodes; other leaves and values computed at load are not. Traces store graphs in this form;
// `pages/` draws them.
#pragma once

#include "compiler/ir/graph.h"

#include <optional>

namespace tg {

struct PictureNode {
  std::string op, type, attrs;
  std::string name;                 // for an input
  std::vector<std::string> weights; // "stem.w: f32[64, 3, 7, 7]", "0.5"
  std::vector<uint32_t> operands;   // indices of earlier nodes
  std::vector<std::string> outputs; // names of the model outputs at this node
  bool changed = false;             // without an equal node in the graph compared with
  std::optional<NodeId> id;         // in the original graph
  bool input() const { return op == "input"; }
  /// Returns the displayed name: the name of an input, else the operator.
  llvm::StringRef label() const { return input() && !name.empty() ? name : op; }
};

/// A list of nodes in which operands come before their users.
struct Picture {
  std::string title;
  std::vector<PictureNode> nodes;
};

/// Returns the nodes that the outputs need, and the inputs. Operands known at load are listed with
/// their readers.
Picture picture_of(const Graph& graph);
/// The same; marks nodes without an equal node in `other` as changed.
Picture picture_with_changes(const Graph& graph, const Graph& other);

} // namespace tg
