// A graph as people look at it: what runs, with shapes, and the weights of each operator beside it.
// Leaves but inputs, and what is computed at load, are no nodes of their own. Traces hold graphs in
// this form; `pages/` draws them.
#pragma once

#include "compiler/ir/graph.h"

#include <optional>

namespace tg {

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

/// What the outputs need, and inputs; operands that are known at load stand beside who reads them.
Picture picture_of(const Graph& graph);
/// The same; nodes that `other` has none alike of are marked as changed.
Picture picture_beside(const Graph& graph, const Graph& other);

} // namespace tg
