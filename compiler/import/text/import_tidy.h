// Brings an imported graph into the form in which people write models and searches start: numbers
// of few digits, constants of one element as numbers, and single operators instead of the several
// in which the file writes them (rules/import.tg).
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"
#include "lang/core/diagnostics/diagnostic.h"

namespace tg {

struct TidyGraph {
  Graph graph;
  llvm::DenseMap<uint32_t, std::string> names{}; // by node
  /// By node of the input graph: the node with its value, or invalid.
  std::vector<NodeId> became{};
};

/// Returns a graph with the same results. A float constant changes only if its dtype represents the
/// old and the new number alike. `names` is by node of `graph`. nullopt if the library's rules
/// cannot be read; the sink has the error.
std::optional<TidyGraph> tidied(const Graph& graph,
                                const llvm::DenseMap<uint32_t, std::string>& names,
                                SourceManager& sources, const ModuleLoader& library,
                                DiagnosticSink& sink);

} // namespace tg
