// A graph as an ONNX model, in ONNX's own operators: the model's inputs and outputs under their
// names, weights as initialisers under their paths, what only Tangram has written out.
//
//   join_kept            where the graph's file has nodes that are kept: what these read beside it
//   prepare_for_export   operators that are a form of another one become that one
//   (fold weights)       the caller's: what depends on weights alone becomes weights
//   export_graph         the nodes, and which weights the file wants
//   write_model          the file, with elements that the caller gives one tensor at a time
//
// What ONNX leaves open is written so that it means what it does here, where a few nodes can say it
// (casts to integers, quotients and remainders of integers); DECISIONS.md lists what they cannot.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/origins.h"
#include "compiler/ir/graph.h"

namespace tg::onnx {

inline constexpr int kOldestExport = 13, kUsualExport = 18, kNewestExport = 24;

struct ExportOptions {
  int opset = kUsualExport;
  std::string version; // of Tangram, for the file's producer
  /// To be put back; null: none were cut out. The graph is what join_kept() gives.
  const KeptNodes* kept = nullptr;
  /// The model that computed the graph's folded weights, if there is one; the names of its weights
  /// are not given to anything else.
  const Graph* folded_from = nullptr;
  /// Facts of the source file; null if the source is not an ONNX file.
  const FileFacts* facts = nullptr;
};

/// A weight that the file wants the elements of.
struct ExportedWeight {
  schema::Tensor tensor; // all but the elements
  NodeId node;
  /// A gather or scatter takes it for indices into an axis of this size; 0: none does. ONNX says
  /// nothing of others than 0 to size - 1 and, from the end, negative ones, which mean something
  /// else here.
  int64_t indices_below = 0;
  OpKind picks = OpKind::Gather; // which of the two
};

struct Exported {
  schema::Model model; // without its graph
  schema::Graph graph; // without the weights
  std::vector<ExportedWeight> weights;
  /// What the file takes for granted.
  std::vector<std::string> notes;
};

struct PreparedGraph {
  Graph graph;
  /// For kernels that are known by their transforms alone, two outputs each, named after the
  /// weight: the transform as it is given, and that of the kernel in the graph. Where the two
  /// differ, the first is the transform of no kernel, and the graph is not what it was made from.
  /// No inputs.
  Graph transforms;
};

/// winograd_conv2d of a transformed kernel is conv2d of the kernel; attention is its two products
/// and what is between them; rows are matrices (flatten_rows.h).
PreparedGraph prepare_for_export(const Graph& graph);

/// The graph with what kept nodes read that hangs on no input. nullopt where one of them waits for
/// itself: rewriting may have made one operator of what was before and what was behind it.
std::optional<Graph> join_kept(const Graph& graph, const KeptNodes& kept);

/// Errors: `unsupported`, naming the operator, for what ONNX's operators cannot say, for an output
/// with the name of an input, and for an opset that is not written, or older than kept nodes need.
Result<Exported> export_graph(const Graph& graph, const ExportOptions& options);

} // namespace tg::onnx
