// The native rewrite FusePointwise: f(xs...) equals a fused_map whose body holds f and what the
// classes of xs offer to inline. Applied upwards again and again it grows the largest fusions; cost
// decides which of them, if any, are used.
#pragma once

#include "compiler/egraph/egraph.h"
#include "lang/core/fused_body.h"

namespace tg {

class FusePointwise {
public:
  /// Limits of a body: operands are streams of memory,
  /// and code beyond this no longer hides behind them.
  static constexpr size_t kMaxOperands = 8, kMaxOps = 24;

  explicit FusePointwise(EGraph& egraph) : egraph_(egraph) {}
  /// Adds up to two forms of the pointwise node: with the largest body of every operand inlined;
  /// and with operands left alone that are there anyway: an output of the graph, or what something
  /// else than a pointwise operator can compute (a product with an activation, say, that may do
  /// this work for free). True if that was news.
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
  llvm::DenseMap<uint32_t, FusedBody> bodies_; // of fused_map nodes, by the body's ValueId
  std::array<FusedBody, kOpCount> single_;     // of pointwise operators
  llvm::SmallVector<ClassId, 8> leaves_;
  llvm::SmallVector<uint32_t, 32> row_; // of the history
};

// A row of the history: the number of nodes of the left side, then each of them, operands first and
// the root last: operator, attributes, number of operands, and for each 2 * class or 2 * place of
// an earlier node + 1; then the attributes of the fused_map, and the classes of its operands.

} // namespace tg
