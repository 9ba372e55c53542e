// Weights that change from run to run: those with a next value (`update(w, …)`). They are known
// when a run starts, but not when the model is loaded, so nothing that depends on them is computed
// at load. Their next values are outputs of the graph under their paths, after its results.
//
// In a graph they are weights whose `init` starts with a reserved word, followed by their initial
// value.
#pragma once

#include "compiler/ir/graph.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// Returns true if a leaf with these attributes changes from run to run, as inputs do.
bool is_updated(const Symbols& symbols, OpKind op, AttrsId attrs);
inline bool is_updated(const Graph& graph, NodeId id) {
  return is_updated(graph.symbols(), graph.node(id).op, graph.node(id).attrs);
}

/// Returns true if a leaf has its value when the model is loaded.
inline bool is_known_at_load(const Symbols& symbols, OpKind op, AttrsId attrs) {
  return op != OpKind::Input && !is_updated(symbols, op, attrs);
}

/// Returns the `init` in a weight's declaration.
llvm::StringRef declared_init(const Graph& graph, NodeId weight);

/// Converts an `init` from a declaration to that of a changing weight.
std::string updated_init(llvm::StringRef declared);

/// Returns the changing weights by path; outputs with these names are their next values.
llvm::StringMap<NodeId> updated_weights(const Graph& graph);

/// Returns the graph with the given weights (nodes of `graph`) changing from run to run.
Graph with_updated(const Graph& graph, llvm::ArrayRef<NodeId> weights);

} // namespace tg
