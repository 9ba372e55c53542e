// The tensor graph: the representation of programs outside of e-graphs. A graph is an append-only,
// hash-consed DAG of tensor operators. A node is an operator, its attributes and its operands. It
// has exactly one result, whose type `infer` computes when the node is added. Equal expressions are
// the same node.
//
// Example:
//
//   Graph graph(std::make_shared<Symbols>(), "twice");
//   NodeId x = graph.input("x", f32({4, 8}));
//   NodeId y = graph.add(OpKind::Add, {}, {x, x}); // graph.type(y) == f32({4, 8})
//   NodeId z = graph.add(OpKind::Add, {}, {x, x}); // z == y
//   graph.add_output("y", y);
//   verify(graph); // == ""
//
// Invariants, of which verify() checks all but the second:
//   - Nodes are in topological order: operands have smaller indices than their users. So a pass
//     is a loop over the indices.
//   - No two nodes have equal operator, attributes and operands.
//   - Each node has the type that `infer` gives for it, and its attributes are in normal form.
//   - Each node has one result. A split is several slices; an absent operand is the node `none`.
#pragma once

#include "lang/core/op.h"
#include "lang/core/result.h"
#include "lang/core/shape_rules.h"

#include <llvm/ADT/DenseMap.h>

#include <memory>
#include <string>
#include <vector>

namespace tg {

struct NodeId {
  uint32_t index = UINT32_MAX;
  bool operator==(const NodeId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

struct Node {
  OpKind op{};
  AttrsId attrs;
  TypeId type;
  uint32_t first_operand = 0; // into Graph's operand arena
  uint32_t operand_count = 0;
  /// True if every leaf below is a weight, a constant or `none`; such a node is computed once, at
  /// load.
  bool weight_only = false;
};

struct GraphOutput {
  std::string name;
  NodeId node;
};

class Graph {
public:
  explicit Graph(std::shared_ptr<Symbols> symbols, std::string name = "");

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Symbols& symbols() const { return *symbols_; }
  const std::shared_ptr<Symbols>& shared_symbols() const { return symbols_; }

  size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  llvm::ArrayRef<NodeId> operands(NodeId id) const {
    const Node& n = nodes_[id.index];
    return llvm::ArrayRef<NodeId>(operands_).slice(n.first_operand, n.operand_count);
  }
  const TensorType& type(NodeId id) const { return symbols_->type(node(id).type); }
  llvm::ArrayRef<ValueId> attrs(NodeId id) const { return symbols_->attrs(node(id).attrs); }
  const Value& attr(NodeId id, size_t slot) const { return symbols_->value(attrs(id)[slot]); }
  llvm::SmallVector<const Value*, 4> attr_values(NodeId id) const {
    llvm::SmallVector<const Value*, 4> values;
    for (ValueId value : attrs(id)) values.push_back(&symbols_->value(value));
    return values;
  }

  llvm::ArrayRef<GraphOutput> outputs() const { return outputs_; }
  /// Inputs in the order of the model's parameters, including those that no output needs.
  llvm::ArrayRef<NodeId> inputs() const { return inputs_; }

  /// Adds a node, or finds the equal one. Brings `attrs` into normal form. If `infer` rejects the
  /// node, stores its message in `why`, leaves the graph unchanged and returns an invalid id.
  NodeId add(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> operands,
             std::string* why = nullptr);

  // Shorthands for leaves; they cannot fail.
  NodeId none();
  NodeId input(llvm::StringRef name, const TensorType& type);
  NodeId weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init = "");
  NodeId constant(std::vector<double> values, const TensorType& type);
  /// Adds exact integers. They are stored as doubles if doubles can represent them all, so that
  /// equal literals are one node.
  NodeId whole_constant(llvm::ArrayRef<int64_t> values, const TensorType& type);

  void add_output(std::string name, NodeId node) { outputs_.push_back({std::move(name), node}); }

  /// Returns, by index, the nodes that the outputs need. Inputs are included only if needed.
  std::vector<bool> reachable() const;
  /// Number of operators that the outputs need, without leaves: the "ops" of the published tables.
  size_t op_count() const;

private:
  std::shared_ptr<Symbols> symbols_;
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<NodeId> inputs_;
  std::vector<GraphOutput> outputs_;
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>>
      index_; // from a node's hash to its candidates
};

/// Checks the invariants above, except for duplicate nodes. Returns "", or a description of the
/// first violation.
std::string verify(const Graph& graph);

/// Returns compact text for tests and logs, one node per line: `%3 = conv2d(%0, %1, none, none)
/// {stride = ...} : f32[...]`.
std::string dump(const Graph& graph);

// Graphs are equal if they are the same computation node by node. The numbering of nodes is
// ignored; everything visible from outside is compared.

/// Compares inputs (names, types, order), outputs (names, order) and the operators below them with
/// their attributes and operands. The graphs may have different Symbols. Returns "" if they are
/// equal, else a description of the first difference. Linear in the size of the graphs.
std::string difference(const Graph& a, const Graph& b);

/// Returns 40 hexadecimal digits (SHA-1) that are equal for equal graphs, and different for others
/// except for hash collisions.
std::string digest(const Graph& graph);

} // namespace tg
