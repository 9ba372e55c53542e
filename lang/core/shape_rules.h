// Types of results: one rule per geometry. `infer` is the only judge of whether an operator may be
// applied; the checker, the graph and the e-graph all ask it, so that an ill-typed node never
// exists.
#pragma once

#include "lang/core/op.h"

#include <string>

namespace tg {

/// Brings attribute values into normal form for these operand types (axes counted from the front,
/// pairs and padding spelled out, one -1 of a reshape inferred), checks them, and computes the type
/// of the result. False if the operator does not apply; then `why`, if given, says why in the
/// user's words ("inner dimensions differ: 512 and 256"). `attrs` may be changed even then.
/// Operands that are absent have the none type. Sugar (split) is expanded before this is asked.
bool infer(Symbols& symbols, OpKind op, llvm::SmallVectorImpl<ValueId>& attrs,
           llvm::ArrayRef<TypeId> operands, TypeId& result, std::string* why = nullptr);

/// Output size, and zeros before and after, of a window that slides along one axis. `same` pads to
/// ceil(size / stride) with the odd zero behind (as TensorFlow does).
struct Window {
  int64_t out = 0, before = 0, after = 0;
};
/// nullopt where no window fits. `pad` is in normal form; axis 0 is H, 1 is W.
std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             const Value& pad, int axis);
/// With so many zeros before and after.
std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             int64_t before, int64_t after);
/// The way back: the size of what a convolution makes `size` results of, and what is cut off before
/// and after; `extra` elements are added behind. `same` gives stride * size, and cuts the odd one
/// behind. nullopt where nothing is left, or for `same` where windows leave gaps.
std::optional<Window> transposed_window(int64_t size, int64_t kernel, int64_t stride,
                                        int64_t dilation, const Value& pad, int64_t extra,
                                        int axis);

/// Floating-point operations and the fewest bytes that must move (each operand read once, the
/// result written once).
struct OpWork {
  double flops = 0, bytes = 0;
};
OpWork op_work(const Symbols& symbols, OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands,
               TypeId result);

/// NumPy broadcasting, right-aligned. False if the shapes do not agree.
bool broadcast_shapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b, Shape& out);

} // namespace tg
