// What a device computes in one kernel beyond the operators that a graph names one by one: a
// product or convolution and what is done to its result while that is still in registers. Backends
// say which such patterns they have (runtime/backend.h); extraction prices them whole.
#pragma once

#include "lang/core/op.h"

namespace tg {

/// act(head(...) + bias + residual), where `head` is an operator that has such operands (conv2d,
/// matmul), each of them optional and the two sums in either order.
struct KernelPattern {
  OpKind head{};
  bool bias = false;     // one number for each channel or column
  bool residual = false; // of the result's shape
  llvm::ArrayRef<Act> acts;
};

} // namespace tg
