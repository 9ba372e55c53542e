// Combinations of operators that a device computes in one kernel:
// a product or convolution and the operations on its result while that is still in registers.
// Backends list their patterns (runtime/backend.h); extraction prices each as a whole.
#pragma once

#include "lang/core/op.h"

namespace tg {

/// act(head(...) + bias + residual), where `head` is an operator with such operands (conv2d,
/// matmul). Each part is optional, and the two sums may be in either order.
struct KernelPattern {
  OpKind head{};
  bool bias = false;     // one number per channel or column
  bool residual = false; // of the result's shape
  llvm::ArrayRef<Act> acts;
};

} // namespace tg
