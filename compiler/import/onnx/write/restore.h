// Restores nodes of the source file whose expansion is still in the graph: each is written as the
// original node. Runtimes have a kernel for it, and the several operators of its form take several
// times as long.
//
// The graph of the source has the expansion of a node between its operands and its results. The
// expansion is searched for in the graph to be written: the same operators with the same
// attributes, over any operands of the same types. If a rule has changed an expansion, it is not
// found, and its operators are written.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/origins.h"
#include "compiler/import/onnx/write/export_nodes.h"

namespace tg::onnx {

/// Returns true if a node read in one opset can be written in a newer one, after modernise().
/// `has_new_types`: halves or f64, which operators support later than f32.
bool is_writable(const schema::Node& head, int version, int opset, bool has_new_types);

/// Converts a node of an older opset to the writer's: Scatter becomes ScatterElements, axes
/// of reductions become an input, modes of GridSample get other names, Split gets the number
/// of its pieces.
void modernise(schema::Node& node, NodeWriter& nodes);

struct Restored {
  Graph graph;
  /// Those of `kept` and the restored ones; all their operands are in the graph.
  KeptNodes kept;
  /// By restored node that stands for several operators: these, alone.
  std::vector<Graph> expansions = {};
};

/// `graph` is the result of join_kept() for `kept`. `source` is the graph described by `facts`.
Restored restore_nodes(const Graph& graph, const KeptNodes& kept, const Graph& source,
                       const FileFacts& facts, int opset);

} // namespace tg::onnx
