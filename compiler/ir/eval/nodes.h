// Builds nodes: operators over tensors, and tensors from literals. A number, a nested list or
// `zeros([2])` has no dtype of its own: it takes the dtype of its context (the other operand, the
// parameter, the declared result). Without a context it is f32, or bool if it contains bools. A
// number that the dtype cannot represent is an error; it is never rounded to an integer or wrapped.
#pragma once

#include "compiler/ir/eval/report.h"

#include <llvm/ADT/DenseSet.h>

namespace tg::eval {

class Nodes {
public:
  /// `run`, if given, has the open sizes of the instantiation.
  Nodes(Graph& graph, Report& report, SizeRun* run) : graph_(graph), report_(report), run_(run) {}

  /// For leaves, which cannot fail.
  Graph& graph() const { return graph_; }
  SizeRun* run() const { return run_; }
  /// The type, with open sizes where it has some.
  OpenType type(NodeId node) const;
  DType dtype(NodeId node) const { return graph_.type(node).dtype; }
  int64_t rank(NodeId node) const { return graph_.type(node).rank(); }
  /// Sets the type of a leaf that `make` builds in the graph with the type at the sample.
  NodeId leaf(const OpenType& type, llvm::function_ref<NodeId(const TensorType&)> make);

  /// Builds an operator. Omitted trailing operands are absent, and omitted trailing attributes have
  /// their defaults.
  Val apply(const Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<OpenValue> attrs,
            llvm::ArrayRef<Operand> operands);
  /// The same by the operator's name.
  Val apply(const Frame& frame, ast::ExprId site, llvm::StringRef op,
            llvm::ArrayRef<OpenValue> attrs, llvm::ArrayRef<Operand> operands);
  /// Builds the operator that a sign means between tensors: `x ** 2`, `x // y`.
  Val sign(const Frame& frame, ast::ExprId id, const Val& a, const Val& b);

  /// Converts a value to a tensor: a tensor to itself, a literal to a constant. `want` is the dtype
  /// of a literal; None for its default (f32, or bool).
  bool tensor(const Frame& frame, const Val& val, Span span, NodeId& out, DType want = DType::None);
  /// Returns true if a number can be an element of this dtype, and reports an error otherwise.
  bool fits(const Frame& frame, double value, DType dtype, Span span);
  /// Returns the dtype of the first value that has one.
  DType first_dtype(llvm::ArrayRef<const Val*> values) const;

  /// The value of a weight in the next run.
  struct Update {
    NodeId weight, value;
  };
  std::vector<Update>& updates() { return updates_; }
  /// Weights that training does not change: `trained = false`.
  llvm::DenseSet<uint32_t>& untrained() { return untrained_; }

private:
  Val power(const Frame& frame, ast::ExprId id, Operand x, Operand y, const Val& exponent);
  Val rounded(const Frame& frame, ast::ExprId id, ast::Op op, Operand x, Operand y);
  bool literal(const Frame& frame, const Val& val, Span span, NodeId& out, DType want);
  bool weak_tensor(const Frame& frame, NodeId node, Span span, NodeId& out, DType want);
  void set_type(NodeId node, bool fresh, const OpenType& type);

  Graph& graph_;
  Report& report_;
  std::vector<Update> updates_;
  llvm::DenseSet<uint32_t> untrained_;
  SizeRun* run_;
  llvm::DenseMap<uint32_t, OpenType> open_types_; // of the nodes whose type has open sizes
};

/// Returns true for a number, which may be open, or a bool.
bool is_scalar(const Val& val);
double number_of(const Val& scalar);

} // namespace tg::eval
