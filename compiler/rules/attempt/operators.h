// Guesses of operands and attributes, by the shape rule of the operator that takes them.
#pragma once

#include "compiler/rules/attempt/terms.h"

namespace tg {

class OperatorGuess {
public:
  OperatorGuess(AttemptTerms& terms, const RuleHints& hints, InstanceDraws& draws)
      : terms_(terms), hints_(hints), draws_(draws) {}

  /// Gives the term, an operator, a type: of that shape if one is wanted.
  bool make(TermId id, const Shape* want);

private:
  // `bool make_conv2d(TermId id, const Shape* want);` and so on: products.cpp (windows, too),
  // choices.cpp (conditions, indices, limits, operators that the program declares), shapes.cpp (all
  // others).
#define TG_OP(...)
#define TG_SHAPE(shape, ...) bool make_##shape(TermId id, const Shape* want);
#include "lang/core/ops.def"

  using Maker = bool (OperatorGuess::*)(TermId, const Shape*);
  static const Maker kMakers[];

  /// The kernel of a convolution of an input with so many channels.
  bool make_kernel(TermId w, Shape kernel, int64_t channels, const Shape* want);
  /// batch_norm (channels along axis 1) and layer_norm (along the last).
  bool make_norm(TermId id, const Shape* want, int64_t least_rank);
  Shape any_indices();

  AttemptTerms& terms_;
  const RuleHints& hints_;
  InstanceDraws& draws_;
};

} // namespace tg
