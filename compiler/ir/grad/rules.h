// The interface and the table of the operators' gradient rules.
#pragma once

#include "compiler/ir/node_builder.h"

#include <functional>

namespace tg::grad {

/// The context of one operator's rule: the gradient of its result is known, and the rule supplies
/// those of its operands.
class Reverse {
public:
  /// Traverses from a node that equals this one down to its operands.
  using Walk = std::function<void(Reverse&, NodeId)>;

  Reverse(NodeBuilder& build, NodeId node, NodeId dy, std::vector<bool> wanted, const Walk& walk);

  NodeBuilder& b;
  const NodeId node;
  /// gradient of the node, with its type
  const NodeId dy;
  /// A copy, because the graph grows.
  const llvm::SmallVector<NodeId, 5> operands;

  NodeId x() const { return operands[0]; }
  OpKind op() const { return b.graph().node(node).op; }
  bool has(size_t i) const { return !b.type(operands[i]).is_none(); }
  /// Returns true if a requested variable is below this operand.
  bool wanted(size_t i) const { return wanted_[i]; }
  const Value& attr(llvm::StringRef name) const;
  int64_t number(llvm::StringRef name) const { return attr(name).number; }
  NodeBuilder::Ints ints(llvm::StringRef name) const { return attr(name).ints; }

  /// Adds to the operand's gradient; sums it along the axes on which the operand was broadcast.
  void add_gradient(size_t i, NodeId gradient);
  /// Differentiates `equal` instead: the same value, computed by operators with rules.
  void through(NodeId equal) { walk_(*this, equal); }
  /// Reports that there is no rule.
  void refuse(std::string why) { why_ = std::move(why); }

  NodeBuilder::Nodes given() const { return given_; }
  const std::string& why() const { return why_; }

private:
  const std::vector<bool> wanted_;
  const Walk& walk_;
  std::vector<NodeId> given_; // invalid if the operand received none
  std::string why_;
};

using Rule = void (*)(Reverse&);

/// Returns the rule of an operator. Null if its result does not change, or changes only in steps,
/// with the operands: comparisons, indices, integers.
Rule rule_of(OpKind op);

/// Returns true if gradients pass through the operator.
inline bool carries(const Graph& graph, NodeId node) {
  return is_float(graph.type(node).dtype) && rule_of(graph.node(node).op);
}

inline Shape copied(NodeBuilder::Ints ints) { return Shape(ints.begin(), ints.end()); }

/// Sums the gradients received by a node, at least one (sums.cpp).
NodeId sum_of_shares(NodeBuilder& b, std::vector<NodeId> shares);

/// Sums x along the axes on which a tensor of this shape is broadcast to x's shape.
NodeId sum_to(NodeBuilder& b, NodeId x, NodeBuilder::Ints shape);

// --- the rules ----------------------------------------------------------------------------------

/// pointwise.cpp; null as above.
Rule pointwise_rule(OpKind op);

// `void conv2d(Reverse& r);` and so on, as rows of ops.def name them: products.cpp, windows.cpp,
// rows.cpp, moves.cpp, pointwise.cpp (fused_map).
#define TG_OP(kind, name, operands, attrs, shape, traits, work, degree, gradient, doc)             \
  void gradient(Reverse& r);
#define TG_POINTWISE(...)
#include "lang/core/ops.def"

/// Differentiates act(product + bias + residual) in its component form, if there is more than the
/// product. `bias_shape` broadcasts a bias of n elements to the result. Returns false for a plain
/// product.
bool without_epilogue(Reverse& r, NodeBuilder::Ints bias_shape);

} // namespace tg::grad
