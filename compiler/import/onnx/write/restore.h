// Nodes of the source's file that the graph still computes as their forms wrote them: each is
// written as the one node that it was. Runtimes have a kernel for it, and what a form says in
// several operators takes several times as long there.
//
// Between the operands and the results of a node, the graph of the source has its expansion. An
// expansion is looked for in the graph that is to be written: the same operators with the same
// attributes, over any operands of the same types. Where a rule has changed it, it is not found,
// and its operators are written.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/origins.h"
#include "compiler/import/onnx/write/export_nodes.h"

namespace tg::onnx {

/// True if a node that was read in one opset is to be written in a newer one, after modernise().
/// `has_new_types`: of halves or f64, which operators took later than f32.
bool is_writable(const schema::Node& head, int version, int opset, bool has_new_types);

/// Spells a node of an older opset as the writer's does: Scatter is ScatterElements, axes of
/// reductions are an input, modes of GridSample have other names, Split says how many pieces it
/// makes.
void modernise(schema::Node& node, NodeWriter& nodes);

struct Restored {
  Graph graph;
  /// Those of `kept` and the restored ones; all that they read is in the graph.
  KeptNodes kept;
  /// By restored node that stands for several operators: these, alone.
  std::vector<Graph> expansions = {};
};

/// `graph`: what join_kept() gives of `kept`. `source`: the graph of which the facts are.
Restored restore_nodes(const Graph& graph, const KeptNodes& kept, const Graph& source,
                       const FileFacts& facts, int opset);

} // namespace tg::onnx
