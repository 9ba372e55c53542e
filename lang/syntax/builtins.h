// The language's functions other than operators. The scanner uses their names for advice;
// their semantics are defined by their evaluation.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>

namespace tg {

/// Functions of the language that are not operators: literals, queries about tensors,
/// and compile-time arithmetic.
enum class Builtin : uint8_t {
  Zeros,    // zeros([2, 3]); all literals take `dtype = i64`, else the dtype of their context
  Ones,     // ones([2, 3])
  Full,     // full([2, 3], 0.5)
  Iota,     // iota(4): [0, 1, 2, 3]; with a shape and an axis, it is the operator
  Eye,      // eye(3)
  Literal,  // tensor([[1, 2], [3, 4]], i64)
  Dim,      // dim(x, axis): a size of a tensor
  Rank,     // rank(x)
  ShapeOf,  // shape(x): a list
  DTypeOf,  // dtype(x)
  Split,    // split(x, axis, parts = 3) or sizes = [..]: a tuple
  Grad,     // grad(loss, wrt = [w, b]): derivatives of a one-element tensor, by each
  Params,   // params(loss): the trainable weights that a tensor depends on, as a list
  Path,     // path(w): the path of a weight, as text
  Update,   // update(w, value): sets the weight of the next run; returns the value
  Zip,      // zip(a, b): pairs of the items of two lists
  Constant, // min, max, abs, len, sum, prod … (consteval.h), if no operator has the name
};

struct BuiltinInfo {
  llvm::StringLiteral name;
  Builtin kind;
  llvm::StringLiteral params; // in order; `?` is optional; "" for any number
  bool yields = false; // to a program's function of the same name: added after programs existed
};
llvm::ArrayRef<BuiltinInfo> all_builtins();

} // namespace tg
