// The order in which a graph and the nodes cut out of it are written, each after its operands. The
// order has rounds; each begins with the kept nodes that depend only on earlier rounds. Within a
// round, and without kept nodes, it is the order of the graph.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"

#include <llvm/ADT/StringMap.h>

#include <optional>

namespace tg::onnx {

struct WriteOrder {
  /// A node of the graph, by index, or a kept node.
  struct Step {
    bool is_kept;
    uint32_t index;
  };
  std::vector<Step> steps;
  llvm::StringMap<NodeId> of_name; // operands and results of kept nodes

  /// Returns nullopt if a kept node depends on itself.
  static std::optional<WriteOrder> of(const Graph& graph, const KeptNodes* kept);
};

} // namespace tg::onnx
