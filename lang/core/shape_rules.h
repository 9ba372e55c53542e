// Types of results: one rule per geometry. Only `infer` decides whether an operator may be applied.
// The checker, the graph and the e-graph all use it, so an ill-typed node never exists.
#pragma once

#include "lang/core/op.h"

#include <string>

namespace tg {

/// Normalizes attribute values for these operand types (axes counted from the front,
/// pairs and padding written out, one -1 of a reshape inferred), checks them,
/// and computes the type of the result.
/// Returns false if the operator does not apply, and sets `why`, if given,
/// to the reason in the user's words ("inner dimensions differ: 512 and 256").
/// `attrs` may be changed even then. Absent operands have the none type.
/// Sugar (split) must be expanded before.
bool infer(Symbols& symbols, OpKind op, llvm::SmallVectorImpl<ValueId>& attrs,
           llvm::ArrayRef<TypeId> operands, TypeId& result, std::string* why = nullptr);

/// The output size, and the zeros before and after, of a window that slides along one axis.
/// `same` pads to ceil(size / stride) with the odd zero at the end (as in TensorFlow).
struct Window {
  int64_t out = 0, before = 0, after = 0;
};
/// Returns nullopt if no window fits. `pad` is normalized; axis 0 is H, 1 is W.
std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             const Value& pad, int axis);
/// The same with explicit zeros before and after.
std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             int64_t before, int64_t after);
/// The inverse: returns the size from which a convolution makes `size` results,
/// and the elements cut off before and after; `extra` elements are added at the end.
/// `same` gives stride * size, and cuts the odd element at the end.
/// Returns nullopt if nothing is left, or for `same` if windows leave gaps.
std::optional<Window> transposed_window(int64_t size, int64_t kernel, int64_t stride,
                                        int64_t dilation, const Value& pad, int64_t extra,
                                        int axis);

/// Floating-point operations, and the minimum number of bytes to move (each operand read once,
/// the result written once).
struct OpWork {
  double flops = 0, bytes = 0;
};
OpWork op_work(const Symbols& symbols, OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands,
               TypeId result);

/// Applies NumPy broadcasting, right-aligned. Returns false if the shapes do not agree.
bool broadcast_shapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b, Shape& out);

} // namespace tg
