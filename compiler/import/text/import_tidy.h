// A graph that came from another format, brought into the form in which people write models and
// searches begin: numbers of few digits, constants of one element as numbers, and operators in the
// place of what the file spells out in pieces (rules/import.tg).
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"
#include "lang/core/diagnostics/diagnostic.h"

namespace tg {

struct TidyGraph {
  Graph graph;
  llvm::DenseMap<uint32_t, std::string> names{}; // by node
  /// By node of the graph that was given: the node that has its value, invalid if none has.
  std::vector<NodeId> became{};
};

/// Of the same results; a float constant is another number only where its dtype holds both alike.
/// `names`: by node of `graph`. nullopt if the rules of the library cannot be read, which goes to
/// the sink.
std::optional<TidyGraph> tidied(const Graph& graph,
                                const llvm::DenseMap<uint32_t, std::string>& names,
                                SourceManager& sources, const ModuleLoader& library,
                                DiagnosticSink& sink);

} // namespace tg
