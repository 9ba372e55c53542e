// The functions that the language has beside operators. The scanner knows their names for its
// advice; what they mean is defined where they are evaluated.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>

namespace tg {

/// Functions of the language that are not operators: literals, questions about tensors, and
/// arithmetic at compile time.
enum class Builtin : uint8_t {
  Zeros,    // zeros([2, 3]); all literals take `dtype = i64`, else the dtype of what they meet
  Ones,     // ones([2, 3])
  Full,     // full([2, 3], 0.5)
  Iota,     // iota(4): [0, 1, 2, 3]; of a shape, along an axis, it is the operator
  Eye,      // eye(3)
  Literal,  // tensor([[1, 2], [3, 4]], i64)
  Dim,      // dim(x, axis): a size of a tensor
  Rank,     // rank(x)
  ShapeOf,  // shape(x): a list
  DTypeOf,  // dtype(x)
  Split,    // split(x, axis, parts = 3) or sizes = [..]: a tuple
  Grad,     // grad(loss, wrt = [w, b]): the derivatives of a tensor of one element, by each
  Params,   // params(loss): the weights below a tensor that training may change, as a list
  Path,     // path(w): the path of a weight, as text
  Update,   // update(w, value): what the weight is in the next run; gives the value
  Zip,      // zip(a, b): pairs of the items of two lists
  Constant, // min, max, abs, len, sum, prod … (consteval.h), where no operator has the name
};

struct BuiltinInfo {
  llvm::StringLiteral name;
  Builtin kind;
  llvm::StringLiteral params; // in order; `?` may be left out; "" for any number
  bool yields = false; // to a function of a program that has its name: it came later than programs
};
llvm::ArrayRef<BuiltinInfo> all_builtins();

} // namespace tg
