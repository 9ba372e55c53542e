// Names of PyTorch, NumPy and Python for which Tangram has other names:
// a message can then suggest the right name and its parameters.
#pragma once

#include "lang/core/op.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg {

/// A row of foreign_ops.def, which explains the columns.
struct ForeignOp {
  llvm::StringLiteral names, module, code, text;
  /// Returns "`use std.nn: linear`, then `linear(x, 128)`: the input's width follows from x".
  std::string help() const;
};
llvm::ArrayRef<ForeignOp> foreign_ops();

/// For an unknown function or method (`view`, `Linear`, `cat`):
/// returns the code to write, or that there is none. Returns "" if the name is not in the table.
std::string idiom_of_function(llvm::StringRef name);

/// For an unknown value (`True`, `self`): returns the code to write.
llvm::StringRef idiom_of_name(llvm::StringRef name);

/// For the name of an argument (`dim`, `kernel_size`): returns its possible names here,
/// separated by blanks, the likeliest first.
llvm::StringRef idiom_of_argument(llvm::StringRef name);

/// Returns the dtype for `float32` or `LongTensor`: "f32"; "" if it is not a foreign dtype name.
llvm::StringRef idiom_of_dtype(llvm::StringRef name);

/// For the name of a type (`Tensor`, `float64`, `torch.float32` without its module):
/// returns the code to write, or that there is none. Returns "" if the name is unknown.
std::string idiom_of_type(llvm::StringRef name);

/// For `"same"`, given to an attribute that takes words: advises to omit the quotes.
/// Returns "" for text that is not one of the words.
std::string idiom_of_quotes(llvm::StringRef name, AttrKind kind, llvm::StringRef text);

/// Returns the parameters of an operator: `x, kernel, stride = 1, pad = valid`.
std::string parameters_text(OpKind op);

} // namespace tg
