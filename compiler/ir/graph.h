// The tensor graph: immutable once built, hash-consed, in topological order. A node is an operator,
// its attributes and its operands; it has exactly one result (a split is several slices; an absent
// operand is the node `none`). Equal expressions are one node. Operands come before their users, so
// that every pass is a loop over indices.
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
  /// True if every leaf below is a weight, a constant or `none`: computed once, at load.
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
  /// Inputs in the order of the model's parameters; an input that no output needs is kept.
  llvm::ArrayRef<NodeId> inputs() const { return inputs_; }

  /// Adds a node, or finds the equal one. `attrs` are brought into normal form. Errors: what
  /// `infer` says in `why`; then the graph is unchanged and the id invalid.
  NodeId add(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> operands,
             std::string* why = nullptr);

  // Shorthands for leaves; they cannot fail.
  NodeId none();
  NodeId input(llvm::StringRef name, const TensorType& type);
  NodeId weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init = "");
  NodeId constant(std::vector<double> values, const TensorType& type);
  /// Integers, exactly: as doubles where those hold them all, so that equal literals are one node.
  NodeId whole_constant(llvm::ArrayRef<int64_t> values, const TensorType& type);

  void add_output(std::string name, NodeId node) { outputs_.push_back({std::move(name), node}); }

  /// Nodes that the outputs need, marked by index. Inputs are not marked for being inputs.
  std::vector<bool> reachable() const;
  /// Operators that the outputs need, leaves not counted: the "ops" of the published tables.
  size_t op_count() const;

private:
  std::shared_ptr<Symbols> symbols_;
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<NodeId> inputs_;
  std::vector<GraphOutput> outputs_;
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>>
      index_; // hash of a node to its candidates
};

/// Checks everything that the comment above promises. Empty if all is well, else what is wrong.
std::string verify(const Graph& graph);

/// Compact text for tests and logs: one node a line, `%3 = conv2d(%0, %1, none, none) {stride =
/// ...} : f32[...]`.
std::string dump(const Graph& graph);

// Whether two graphs are the same computation, node for node: the numbering of nodes does not
// matter, everything that can be seen from outside does.

/// Same inputs (names, types, order), same outputs (names, order) and, below them, the same
/// operators with the same attributes and operands. The graphs may have different Symbols. Empty if
/// so, else where they first differ. Linear in the size of the graphs.
std::string difference(const Graph& a, const Graph& b);

/// The same for graphs that do not differ, and for no others that one will meet (SHA-1): 40
/// hexadecimal digits.
std::string digest(const Graph& graph);

} // namespace tg
