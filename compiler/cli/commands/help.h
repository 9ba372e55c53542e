// Explains names for `tg help` and `:help` at the prompt.
#pragma once

#include "lang/check/resolve.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::cli {

// The explain functions print a description, or return false if the name is unknown.

/// Explains an operator or a builtin of the language.
bool explain_operator(llvm::raw_ostream& out, llvm::StringRef name);
/// Explains a function of the library, with the `use` line that imports it, or a module: `std.nn`.
bool explain_library(llvm::raw_ostream& out, llvm::StringRef name);

void print_doc(llvm::raw_ostream& out, llvm::StringRef signature, llvm::StringRef doc);
/// Returns a declaration without its body: `fn fire(x: f32[N], n: int) -> f32[N]`.
std::string signature_text(const Ast& tree, const SourceManager& sources, const ast::Decl& decl);

} // namespace tg::cli
