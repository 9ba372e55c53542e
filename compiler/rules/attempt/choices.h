// Operands of operators whose operands are not all numbers of one dtype (conditions, indices), of
// positions and limits, and of operators that the program declares.
#pragma once

#include "compiler/rules/attempt/terms.h"

namespace tg {

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

} // namespace tg
