// What the rule of an operator sees, and the table of rules.
#pragma once

#include "compiler/ir/node_builder.h"

#include <functional>

namespace tg::grad {

/// One operator on the way back: the gradient of its result is known, those of its operands are
/// given.
class Reverse {
public:
  /// Walks from a node that stands for this one down to the operands.
  using Walk = std::function<void(Reverse&, NodeId)>;

  Reverse(NodeBuilder& build, NodeId node, NodeId dy, std::vector<bool> wanted, const Walk& walk);

  NodeBuilder& b;
  const NodeId node;
  /// Of the type of the node.
  const NodeId dy;
  /// A copy: the graph grows.
  const llvm::SmallVector<NodeId, 5> operands;

  NodeId x() const { return operands[0]; }
  OpKind op() const { return b.graph().node(node).op; }
  bool has(size_t i) const { return !b.type(operands[i]).is_none(); }
  /// Whether what is asked for lies below this operand.
  bool wanted(size_t i) const { return wanted_[i]; }
  const Value& attr(llvm::StringRef name) const;
  int64_t number(llvm::StringRef name) const { return attr(name).number; }
  NodeBuilder::Ints ints(llvm::StringRef name) const { return attr(name).ints; }

  /// A share of the operand's gradient, summed along the axes that the operand was repeated on.
  void give(size_t i, NodeId gradient);
  /// The operator is the same as this node, made of its operands by operators with rules.
  void through(NodeId equal) { walk_(*this, equal); }
  /// There is no rule.
  void refuse(std::string why) { why_ = std::move(why); }

  NodeBuilder::Nodes given() const { return given_; }
  const std::string& why() const { return why_; }

private:
  const std::vector<bool> wanted_;
  const Walk& walk_;
  std::vector<NodeId> given_; // invalid where nothing is
  std::string why_;
};

using Rule = void (*)(Reverse&);

/// Null where a result does not change, or only by leaps, as the operands do: comparisons, indices,
/// whole numbers.
Rule rule_of(OpKind op);

/// Whether `gradients` goes through an operator at all.
inline bool carries(const Graph& graph, NodeId node) {
  return is_float(graph.type(node).dtype) && rule_of(graph.node(node).op);
}

inline Shape copied(NodeBuilder::Ints ints) { return Shape(ints.begin(), ints.end()); }

/// All that comes back to a node, at least one share (sums.cpp).
NodeId sum_of_shares(NodeBuilder& b, std::vector<NodeId> shares);

/// x summed along the axes that a tensor of this shape is repeated on to make it.
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

/// act(product + bias + residual) taken apart, where there is more than the product; `bias_shape`:
/// how a bias of n elements stands in the result. False if there is nothing to take apart.
bool without_epilogue(Reverse& r, NodeBuilder::Ints bias_shape);

} // namespace tg::grad
