// Where nodes are made: operators over tensors, and tensors out of literals. A number, a nested
// list or `zeros([2])` has no dtype by itself: it takes that of what it meets (the other operand,
// the parameter, the declared result), and is f32, or bool where it holds bools, where it meets
// nothing. A number that the dtype cannot hold is an error, never rounded to an integer or wrapped.
#pragma once

#include "compiler/ir/eval/report.h"

#include <llvm/ADT/DenseSet.h>

namespace tg::eval {

class Nodes {
public:
  Nodes(Graph& graph, Report& report) : graph_(graph), report_(report) {}

  /// For leaves, which cannot fail.
  Graph& graph() const { return graph_; }
  const TensorType& type(NodeId node) const { return graph_.type(node); }

  /// An operator; operands and attributes that are left
  /// out at the end are absent, or have their defaults.
  Val apply(const Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<Value> attrs,
            llvm::ArrayRef<Operand> operands);
  /// By the operator's name.
  Val apply(const Frame& frame, ast::ExprId site, llvm::StringRef op, llvm::ArrayRef<Value> attrs,
            llvm::ArrayRef<Operand> operands);
  /// What a sign means between tensors: `x ** 2`, `x // y`.
  Val sign(const Frame& frame, ast::ExprId id, const Val& a, const Val& b);

  /// A tensor from a value: itself, or the constant that a literal stands for. `want`: the dtype
  /// that a literal takes; None for its own (f32, or bool).
  bool tensor(const Frame& frame, const Val& val, Span span, NodeId& out, DType want = DType::None);
  /// Whether a number can be an element of this dtype; reports if not.
  bool fits(const Frame& frame, double value, DType dtype, Span span);
  /// The dtype of the first value that has one.
  DType dtype_met(llvm::ArrayRef<const Val*> values) const;

  /// What a weight is in the next run.
  struct Update {
    NodeId weight, value;
  };
  std::vector<Update>& updates() { return updates_; }
  /// Weights that training leaves as they are: `trained = false`.
  llvm::DenseSet<uint32_t>& untrained() { return untrained_; }

private:
  Val power(const Frame& frame, ast::ExprId id, Operand x, Operand y, const Val& exponent);
  Val rounded(const Frame& frame, ast::ExprId id, ast::Op op, Operand x, Operand y);
  bool literal(const Frame& frame, const Val& val, Span span, NodeId& out, DType want);
  bool weak_tensor(const Frame& frame, NodeId node, Span span, NodeId& out, DType want);

  Graph& graph_;
  Report& report_;
  std::vector<Update> updates_;
  llvm::DenseSet<uint32_t> untrained_;
};

/// A number or a bool.
bool is_scalar(const Val& val);
double number_of(const Val& scalar);

} // namespace tg::eval
