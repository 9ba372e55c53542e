// The order in which a graph and the nodes that were cut out of it can be written: in rounds, of
// which each begins with the kept nodes that wait for nothing but earlier ones.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"

#include <llvm/ADT/StringMap.h>

#include <optional>

namespace tg::onnx {

struct Rounds {
  std::vector<uint32_t> of_node, of_kept; // by node of the graph, by kept node
  uint32_t last = 0;
  llvm::StringMap<NodeId> of_name; // what kept nodes read and give

  /// All in one round without kept nodes. nullopt where a kept node waits for itself.
  static std::optional<Rounds> of(const Graph& graph, const KeptNodes* kept);
};

} // namespace tg::onnx
