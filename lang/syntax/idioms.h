// What PyTorch, NumPy and Python call things that Tangram calls otherwise: so that a first try is
// answered with the word that was meant, and with what it takes.
#pragma once

#include "lang/core/op.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg {

/// A row of foreign_ops.def, where the columns are explained.
struct ForeignOp {
  llvm::StringLiteral names, module, code, text;
  /// "`use std.nn: linear`, then `linear(x, 128)`: the input's width follows from x"
  std::string help() const;
};
llvm::ArrayRef<ForeignOp> foreign_ops();

/// For a function or method that is unknown here (`view`, `Linear`, `cat`): what to write, or that
/// there is nothing like it. Empty if nothing is known of it.
std::string idiom_of_function(llvm::StringRef name);

/// For a value that is unknown here (`True`, `self`): what to write.
llvm::StringRef idiom_of_name(llvm::StringRef name);

/// For the name of an argument (`dim`, `kernel_size`): the names it may have here, parted by
/// blanks, the likeliest first.
llvm::StringRef idiom_of_argument(llvm::StringRef name);

/// The dtype that `float32` or `LongTensor` are here: "f32"; empty for what is none, or one here.
llvm::StringRef idiom_of_dtype(llvm::StringRef name);

/// For the name of a type (`Tensor`, `float64`, `torch.float32` without its module): what to write,
/// or that there is none. Empty if nothing is known of it.
std::string idiom_of_type(llvm::StringRef name);

/// For `"same"`, given to an attribute that takes words: that it stands without quotes. Empty for
/// text that is none of the words.
std::string idiom_of_quotes(llvm::StringRef name, AttrKind kind, llvm::StringRef text);

/// What an operator takes: `x, kernel, stride = 1, pad = valid`.
std::string parameters_text(OpKind op);

} // namespace tg
