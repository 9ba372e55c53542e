// Weights that change from run to run: those that a model gives a next value (`update(w, …)`). They
// are known when a run starts, not when the model is loaded, so that nothing below them alone is
// computed at load. Their next values are outputs of the graph under their paths, behind its
// results.
//
// In a graph they are weights whose `init` begins with a word; what stands behind it is how they
// are filled at first.
#pragma once

#include "compiler/ir/graph.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// Whether a leaf of these attributes changes from run to run, as inputs do.
bool is_updated(const Symbols& symbols, OpKind op, AttrsId attrs);
inline bool is_updated(const Graph& graph, NodeId id) {
  return is_updated(graph.symbols(), graph.node(id).op, graph.node(id).attrs);
}

/// Whether a leaf has its value when a model is loaded.
inline bool is_known_at_load(const Symbols& symbols, OpKind op, AttrsId attrs) {
  return op != OpKind::Input && !is_updated(symbols, op, attrs);
}

/// The `init` of a weight as its declaration has it.
llvm::StringRef declared_init(const Graph& graph, NodeId weight);

/// The `init` of a weight that changes, of one as its declaration has it.
std::string updated_init(llvm::StringRef declared);

/// The weights that change, by their paths; outputs of these names are their next values.
llvm::StringMap<NodeId> updated_weights(const Graph& graph);

/// The graph with weights (nodes of `graph`) that change from run to run.
Graph with_updated(const Graph& graph, llvm::ArrayRef<NodeId> weights);

} // namespace tg
