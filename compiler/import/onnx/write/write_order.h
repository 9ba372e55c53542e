// The order in which a graph and the nodes that were cut out of it are written, each behind what it
// reads: in rounds, of which each begins with the kept nodes that wait for nothing but earlier
// ones. Within a round, and without kept nodes, it is the graph's own.
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
  llvm::StringMap<NodeId> of_name; // what kept nodes read and give

  /// nullopt where a kept node waits for itself.
  static std::optional<WriteOrder> of(const Graph& graph, const KeptNodes* kept);
};

} // namespace tg::onnx
