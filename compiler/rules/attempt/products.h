// Operands of matrix products, convolutions and pooling.
#pragma once

#include "compiler/rules/attempt/terms.h"

namespace tg {

class ProductGuess : public OperandGuess {
public:
  using OperandGuess::OperandGuess;
  bool make_matmul(TermId id, const Shape* want);
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

} // namespace tg
