// Functions with which passes and importers build nodes. A function without an effect, such as a
// reshape to the same shape, returns its operand.
//
// If an operator cannot be built, the result is an invalid node and the error is recorded. Invalid
// operands give invalid results, so a caller builds a whole expression and checks `take_fault()`
// once.
#pragma once

#include "compiler/ir/graph.h"

#include <utility>

namespace tg {

struct NodeAttribute {
  llvm::StringRef name;
  Value value;
};

/// Builds operators and leaves, and answers queries on their types.
class NodeMaker {
public:
  using Nodes = llvm::ArrayRef<NodeId>;
  using Ints = llvm::ArrayRef<int64_t>;
  using Attributes = llvm::ArrayRef<NodeAttribute>;

  explicit NodeMaker(Graph& graph) : graph_(graph) {}
  NodeMaker(const NodeMaker&) = delete;
  NodeMaker& operator=(const NodeMaker&) = delete;
  virtual ~NodeMaker() = default;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  /// For an invalid node, returns a type with the maximum rank, so that building can continue to
  /// the end.
  const TensorType& type(NodeId x) const { return x.valid() ? graph_.type(x) : no_type_; }
  Ints shape(NodeId x) const { return type(x).shape; }
  int64_t size(NodeId x, int64_t axis) const { return shape(x)[static_cast<size_t>(axis)]; }
  int64_t rank(NodeId x) const { return type(x).rank(); }
  DType dtype(NodeId x) const { return type(x).dtype; }

  /// Returns the first error since the last call, or "".
  std::string take_fault() { return std::exchange(fault_, {}); }
  bool failed() const { return !fault_.empty(); }
  /// Records the reason and returns an invalid node.
  NodeId fail(const llvm::Twine& why);

  /// Omitted attributes have their defaults.
  NodeId op(OpKind kind, Nodes operands, Attributes attributes = {});
  /// The same by the operator's name in the table.
  NodeId named(llvm::StringRef name, Nodes operands, Attributes attributes = {});

  // --- leaves ---
  NodeId none() { return graph_.none(); }
  NodeId scalar(double value, DType dtype);
  /// A scalar with the dtype of `x`.
  NodeId like(NodeId x, double value) { return x.valid() ? scalar(value, dtype(x)) : NodeId(); }
  NodeId filled(double value, const TensorType& type);
  /// A vector of i64.
  virtual NodeId indices(Ints values) {
    return graph_.whole_constant(values, {DType::I64, {static_cast<int64_t>(values.size())}});
  }

protected:
  /// Returns the replacement of a newly added operator: itself, or a simpler known node.
  virtual NodeId simplified(NodeId made) { return made; }

private:
  Graph& graph_;
  const TensorType no_type_{DType::F32, Shape(kMaxRank, 1)};
  std::string fault_;
};

/// The functions for building nodes.
class NodeBuilder : public NodeMaker {
public:
  using NodeMaker::NodeMaker;

  // --- elementwise; dtypes must agree, shapes broadcast ---
  NodeId add(NodeId x, NodeId y) { return op(OpKind::Add, {x, y}); }
  NodeId sub(NodeId x, NodeId y) { return op(OpKind::Sub, {x, y}); }
  NodeId mul(NodeId x, NodeId y) { return op(OpKind::Mul, {x, y}); }
  NodeId div(NodeId x, NodeId y) { return op(OpKind::Div, {x, y}); }
  NodeId add(NodeId x, double y) { return add(x, like(x, y)); }
  NodeId sub(NodeId x, double y) { return sub(x, like(x, y)); }
  NodeId mul(NodeId x, double y) { return mul(x, like(x, y)); }
  NodeId div(NodeId x, double y) { return div(x, like(x, y)); }
  NodeId less(NodeId x, NodeId y) { return op(OpKind::Less, {x, y}); }
  NodeId equal(NodeId x, NodeId y) { return op(OpKind::Equal, {x, y}); }
  NodeId select(NodeId condition, NodeId x, NodeId y) {
    return op(OpKind::Select, {condition, x, y});
  }
  NodeId unary(OpKind kind, NodeId x) { return op(kind, {x}); }
  NodeId neg(NodeId x) { return op(OpKind::Neg, {x}); }
  NodeId cast(NodeId x, DType to);
  NodeId clip(NodeId x, double low, double high);

  // --- moves ---
  NodeId reshape(NodeId x, Ints shape);
  NodeId transpose(NodeId x, Ints perm);
  NodeId swap_axes(NodeId x, int64_t a, int64_t b);
  NodeId slice(NodeId x, int64_t axis, int64_t start, int64_t stop);
  /// Returns x itself if it is the only one.
  NodeId concat(Nodes xs, int64_t axis);
  NodeId gather(NodeId x, NodeId indices, int64_t axis);
  /// Returns the elements at these indices along the axis, which must be in range, with the
  /// cheapest operators possible.
  NodeId take(NodeId x, int64_t axis, Ints places);
  NodeId reverse(NodeId x, int64_t axis);
  NodeId pad(NodeId x, Ints before, Ints after, const Value& value = Value::of_int(0));
  /// Like NumPy's broadcast_to.
  NodeId expand(NodeId x, Ints shape);
  NodeId unsqueeze(NodeId x, int64_t axis);
  NodeId squeeze(NodeId x, int64_t axis);
  /// 0, 1, 2, .. along the axis of this type.
  NodeId iota(const TensorType& type, int64_t axis);

  // --- sums and products ---
  NodeId reduce(OpKind kind, NodeId x, Ints axes, bool keepdims);
  NodeId mean(NodeId x, Ints axes) { return reduce(OpKind::ReduceMean, x, axes, true); }
  NodeId sum(NodeId x, Ints axes) { return reduce(OpKind::ReduceSum, x, axes, true); }
  NodeId matmul(NodeId x, NodeId y) { return op(OpKind::Matmul, {x, y, none(), none()}); }
  NodeId softmax(NodeId x, int64_t axis);
  NodeId log_softmax(NodeId x, int64_t axis);
  NodeId layer_norm(NodeId x, NodeId scale, NodeId bias, double eps);
};

} // namespace tg
