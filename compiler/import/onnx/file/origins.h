// Facts of a file beyond its graph, needed to write the file again: its nodes, the outputs whose
// number of rows depends on data, and the inputs with default values.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/schema.h"
#include "compiler/ir/graph.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tg::onnx {

/// Prefix of a metadata key. The name of an output follows; the value is its name in the graph,
/// which an input or a weight also has.
inline constexpr llvm::StringLiteral kRenamedOutput = "tangram.output.";

/// Name of the producer in the files that Tangram writes.
inline constexpr llvm::StringLiteral kProducer = "tangram";

/// A node of the file, and the values of the graph that it reads and makes. The operators of its
/// form are between them.
struct Origin {
  /// At most one of the two is valid; neither is for an omitted input.
  struct Input {
    NodeId value; // in the graph
    NodeId fixed; // in FileFacts::fixed: depends on weights alone
  };
  schema::Node head; // without inputs and outputs
  int version = 0;   // of the operator set
  std::vector<Input> inputs;
  std::vector<NodeId> results;   // in the graph; invalid: unused
  std::vector<TensorType> types; // of the results; None: omitted
  CarriedElements elements;
};

struct FileFacts {
  int opset = 0;
  std::vector<Origin> origins; // in the order of reading
  Graph fixed;
  /// Outputs that the graph pads to the largest number of rows, and the axis of the rows. In a file
  /// they have the actual number.
  std::map<std::string, int64_t> open_outputs = {};
  /// For open outputs that several operators compute: the graph's output with the number of rows,
  /// which files do not have.
  std::map<std::string, std::string> open_counts = {};
  /// Inputs and outputs that are integers of types that Tangram does not have: their types in ONNX.
  std::map<std::string, int32_t> elements = {};
  /// Weights that are also inputs, which a caller may replace.
  std::set<std::string> defaults = {};
};

} // namespace tg::onnx
