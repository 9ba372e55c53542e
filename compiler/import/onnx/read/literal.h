// Tensors whose elements are known at import time: shapes, indices, scalars.
#pragma once

#include "compiler/ir/graph.h"

#include <vector>

namespace tg::onnx {

/// Row-major elements. Integers and bools are exact.
struct Literal {
  TensorType type;
  std::vector<int64_t> ints; // of integers and bools
  std::vector<double> reals; // of floats

  bool is_whole() const { return !is_float(type.dtype); }
  size_t size() const { return is_whole() ? ints.size() : reals.size(); }
};

/// Reduces the tensor to one element if all have the same bits.
Literal compact(Literal literal);
/// Returns the elements of a constant, in full.
Literal literal_of(const Graph& graph, NodeId constant);
/// Adds a constant to the graph.
NodeId constant_of(Graph& graph, const Literal& literal);

/// Returns the result of an operator on these operands, rounded to its type. nullopt if it cannot
/// be computed here: half types, and mixtures of integers beyond 2^53 with floats.
std::optional<Literal> evaluate(Graph& graph, OpKind op, llvm::ArrayRef<ValueId> attrs,
                                const TensorType& result, llvm::ArrayRef<Literal> operands);

} // namespace tg::onnx
