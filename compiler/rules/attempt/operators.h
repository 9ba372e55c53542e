// Guesses of operands, by the operator that takes them.
#pragma once

#include "compiler/rules/attempt/terms.h"

namespace tg {

/// Operands of matrix products, convolutions and pooling.
class ProductGuess : public OperandGuess {
public:
  using OperandGuess::OperandGuess;
  bool make_matmul(TermId id, const Shape* want);
  bool make_attention(TermId id, const Shape* want);
  bool make_conv2d(TermId id, const Shape* want);
  bool make_winograd_weight(TermId id, const Shape* want);
  bool make_winograd_conv2d(TermId id, const Shape* want);
  bool make_conv_transpose2d(TermId id, const Shape* want);
  bool make_conv3d(TermId id, const Shape* want);
  bool make_pool(TermId id, const Shape* want);

private:
  /// The kernel of a convolution of an input with so many channels.
  bool make_kernel(TermId w, Shape kernel, int64_t channels, const Shape* want);
};

/// Operands of operators whose operands are not all numbers of one dtype (conditions, indices), of
/// positions and limits, and of operators that the program declares.
class ChoiceGuess : public OperandGuess {
public:
  using OperandGuess::OperandGuess;
  bool make_select(TermId id, const Shape* want);
  bool make_argmax(TermId id, const Shape* want);
  bool make_gather(TermId id, const Shape* want);
  bool make_iota(TermId id, const Shape* want);
  bool make_top_k(TermId id, const Shape* want);
  bool make_scatter(TermId id, const Shape* want);
  bool make_suppression(TermId id, const Shape* want);
  bool make_clip(TermId id, const Shape* want);
  bool make_cast(TermId id, const Shape* want);
  bool make_extern(TermId id, const Shape* want);

private:
  Shape any_indices();
};

/// Operands of operators element by element, of rows, reductions, moves and fused bodies.
class ShapeGuess : public OperandGuess {
public:
  using OperandGuess::OperandGuess;
  bool make_broadcast(TermId id, const Shape* want);
  bool make_broadcast_to(TermId id, const Shape* want);
  bool make_fused(TermId id, const Shape* want);
  bool make_resize(TermId id, const Shape* want);
  bool make_softmax(TermId id, const Shape* want);
  /// batch_norm (channels along axis 1) and layer_norm (along the last).
  bool make_norm(TermId id, const Shape* want, int64_t least_rank);
  bool make_reduce(TermId id, const Shape* want);
  bool make_concat(TermId id, const Shape* want);
  bool make_slice(TermId id, const Shape* want);
  bool make_reshape(TermId id, const Shape* want);
  bool make_transpose(TermId id, const Shape* want);
  bool make_pad(TermId id, const Shape* want);
  bool make_enlarge(TermId id, const Shape* want);
  bool make_merge(TermId id, const Shape* want);
};

} // namespace tg
