// Exports a graph as an ONNX model in ONNX's own operators: the model's inputs and outputs under
// their names, weights as initialisers under their paths, and operators that only Tangram has as
// several of ONNX's.
//
//   join_kept            if the graph's file has kept nodes: adds their fixed operands
//   prepare_for_export   replaces operators that are a form of another one by that one
//   (fold weights)       done by the caller: nodes that depend on weights alone become weights
//   export_graph         the nodes, and the list of weights for the file
//   write_model          the file, with elements that the caller gives one tensor at a time
//
// Behaviour that ONNX leaves undefined is written so that it matches Tangram's, if a few nodes
// can express it (casts to integers, quotients and remainders of integers). DECISIONS.md lists
// the exceptions.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/origins.h"
#include "compiler/ir/graph.h"

namespace tg::onnx {

inline constexpr int kOldestExport = 13, kUsualExport = 18, kNewestExport = 24;

struct ExportOptions {
  int opset = kUsualExport;
  std::string version; // of Tangram, for the file's producer
  /// Nodes to restore; null: none were cut out. The graph must be the result of join_kept().
  const KeptNodes* kept = nullptr;
  /// The model that computed the graph's folded weights, or null. The names of its weights
  /// are reserved.
  const Graph* folded_from = nullptr;
  /// Facts of the source file; null if the source is not an ONNX file.
  const FileFacts* facts = nullptr;
  /// For a model that is written at several sizes, of which join_open() makes one file: by node of
  /// the graph, the result of varying_nodes(). Null: sizes are fixed.
  const std::vector<bool>* varying = nullptr;
};

/// A weight whose elements the file needs.
struct ExportedWeight {
  schema::Tensor tensor; // without its elements
  NodeId node;
  /// Nonzero if a gather or scatter uses it as indices into an axis of this size. ONNX defines only
  /// 0 to size - 1 and, from the end, negative indices, which have another meaning in Tangram.
  int64_t indices_below = 0;
  OpKind picks = OpKind::Gather; // gather or scatter
};

struct Exported {
  schema::Model model; // without its graph
  schema::Graph graph; // without the weights
  std::vector<ExportedWeight> weights;
  /// Assumptions of the file.
  std::vector<std::string> notes;
};

struct PreparedGraph {
  Graph graph;
  /// For kernels that are known only by their transforms, two outputs each, named after the
  /// weight: the given transform, and the transform of the kernel in the graph. If they differ,
  /// the given one is not the transform of any kernel, and the graph does not compute the same
  /// function. No inputs.
  Graph transforms;
};

/// Replaces winograd_conv2d of a transformed kernel by conv2d of the kernel, and attention by its
/// two products and the operators between them; writes rows as matrices (flatten_rows.h).
PreparedGraph prepare_for_export(const Graph& graph);

/// Returns the graph with the fixed operands of kept nodes. nullopt if a kept node depends on
/// itself: rewriting may have merged operators before and after it.
std::optional<Graph> join_kept(const Graph& graph, const KeptNodes& kept);

/// Exports a graph. Errors: `unsupported`, naming the operator, if ONNX's operators cannot express
/// it, for an output with the name of an input, and for an opset that is not supported or older
/// than kept nodes need.
Result<Exported> export_graph(const Graph& graph, const ExportOptions& options);

} // namespace tg::onnx
