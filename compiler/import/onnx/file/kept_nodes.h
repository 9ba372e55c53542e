// Nodes of a file that are kept when the file is written again, since runtimes run one such node
// faster than the operators of its form. They are cut out of the graph: their results are inputs of
// the graph, their operands outputs. So two graphs that are equal around the same kept nodes are
// equal models, unless a kept node depends on itself in one of them.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "compiler/ir/graph.h"

#include <set>
#include <string>
#include <vector>

namespace tg::onnx {

/// The ONNX types of a node's inputs and results that the graph carries in wider types; 0 for
/// others.
struct CarriedElements {
  std::vector<int32_t> inputs, results;
};

struct KeptNode {
  /// Reads, by name, inputs and outputs of the graph and outputs of `fixed`; makes inputs of the
  /// graph. An empty name is an omitted input or result.
  schema::Node node;
  int opset = 0; // the oldest opset in which it has this meaning
  CarriedElements elements = {};
};

struct KeptNodes {
  std::vector<KeptNode> nodes; // each after those that it reads from
  /// Operands of kept nodes that depend on no input: outputs by name, over the symbols of the
  /// graph.
  Graph fixed;
  /// Inputs and outputs of the graph that are not inputs and outputs of the model.
  std::set<std::string> cuts;

  /// Returns the oldest opset in which all of them can be written.
  int opset() const;
  /// Returns "2 LSTM, 1 GRU".
  std::string text() const;
};

} // namespace tg::onnx
