// Tensors whose elements are known while a file is read: shapes, indices, scalars.
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

/// As one element where all are the same bits.
Literal compact(Literal literal);
/// The elements of a constant, each written out.
Literal literal_of(const Graph& graph, NodeId constant);
/// A constant of the graph.
NodeId constant_of(Graph& graph, const Literal& literal);

/// What an operator gives for these operands, rounded to its type. nullopt where it cannot be
/// computed here: half types, and what mixes integers beyond 2^53 with floats.
std::optional<Literal> evaluate(Graph& graph, OpKind op, llvm::ArrayRef<ValueId> attrs,
                                const TensorType& result, llvm::ArrayRef<Literal> operands);

} // namespace tg::onnx
