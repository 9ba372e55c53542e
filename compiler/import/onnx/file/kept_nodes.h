// Nodes of a file that stay what they are when it is written again, since runtimes run them faster
// as one than as the operators that their forms make of them. They are cut out of the graph: what
// they give are inputs of it, what they read outputs. Two graphs that are equal around the same
// kept nodes are therefore equal models, unless in one of them a kept node waits for itself.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "compiler/ir/graph.h"

#include <set>
#include <string>
#include <vector>

namespace tg::onnx {

/// The types in ONNX of a node's inputs and results where the graph carries them in wider ones; 0
/// for others.
struct CarriedElements {
  std::vector<int32_t> inputs, results;
};

struct KeptNode {
  /// Reads, by name, inputs and outputs of the graph and outputs of `fixed`; gives inputs of the
  /// graph. An empty name is an input or a result that is left out.
  schema::Node node;
  int opset = 0; // the oldest in which it means this
  CarriedElements elements = {};
};

struct KeptNodes {
  std::vector<KeptNode> nodes; // each behind those that it reads from
  /// What they read that hangs on no input: outputs by name, over the symbols of the graph.
  Graph fixed;
  /// Inputs and outputs of the graph that the model does not have.
  std::set<std::string> cuts;

  /// The oldest in which all of them can be written.
  int opset() const;
  /// "2 LSTM, 1 GRU"
  std::string text() const;
};

} // namespace tg::onnx
