// Operands of operators element by element, of rows, reductions, moves and fused bodies.
#pragma once

#include "compiler/rules/attempt/terms.h"

namespace tg {

class ShapeGuess : public OperandGuess {
public:
  using OperandGuess::OperandGuess;
  bool make_broadcast(TermId id, const Shape* want);
  bool make_broadcast_to(TermId id, const Shape* want);
  bool make_fused(TermId id, const Shape* want);
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
