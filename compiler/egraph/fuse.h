// The native rewrite FusePointwise: f(xs...) equals a fused_map whose body contains f and the
// bodies inlined from the classes of xs. Repeated application upwards builds the largest fusions.
// Extraction decides by cost which of them are used.
#pragma once

#include "compiler/egraph/egraph.h"
#include "lang/core/fused_body.h"

namespace tg {

class FusePointwise {
public:
  /// Limits of a body. Each operand is a stream of memory accesses, and a longer body is no longer
  /// hidden behind them.
  static constexpr size_t kMaxOperands = 8, kMaxOps = 24;

  explicit FusePointwise(EGraph& egraph) : egraph_(egraph) {}
  /// Adds up to two forms of the pointwise node: one that inlines the largest body of every
  /// operand, and one that does not inline operands computed anyway. These are outputs of the graph
  /// and classes that another operator can compute, for example a product with an activation, which
  /// may do this work for free. Returns true if the e-graph changed.
  bool apply(ENodeId node, RuleId rule);

private:
  bool add(ENodeId node, RuleId rule, bool keep);
  ENodeId largest(ClassId operand, TypeId type, bool keep);
  bool output(ClassId id) const;
  bool kept(ClassId id) const;
  size_t kept_by(ENodeId body) const;
  const FusedBody& body(ENodeId node);
  bool inline_operand(ClassId operand, ENodeId inner, FusedBody& out);
  void describe(ENodeId root, llvm::ArrayRef<ENodeId> inlined);
  uint32_t number(ClassId leaf);

  EGraph& egraph_;
  llvm::DenseMap<uint32_t, FusedBody> bodies_; // by the ValueId of the body
  std::array<FusedBody, kOpCount> single_;     // by pointwise operator
  llvm::SmallVector<ClassId, 8> leaves_;
  llvm::SmallVector<uint32_t, 32> row_; // for the history
};

// Format of a history row: the number of nodes of the left side, then each node, operands first and
// the root last: operator, attributes, number of operands, and for each operand 2 * class, or
// 2 * index of an earlier node + 1. Then the attributes of the fused_map and its operands' classes.

} // namespace tg
