// What a name means, for `tg help` and the prompt's `:help`.
#pragma once

#include "lang/check/resolve.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::cli {

// Each prints what is known, or answers false.
/// An operator, or a builtin of the language.
bool explain_operator(llvm::raw_ostream& out, llvm::StringRef name);
/// A function of the library, with the `use` that brings it, or a module: `std.nn`.
bool explain_library(llvm::raw_ostream& out, llvm::StringRef name);

void print_doc(llvm::raw_ostream& out, llvm::StringRef signature, llvm::StringRef doc);
/// `fn fire(x: f32[N], n: int) -> f32[N]`: a declaration without its body.
std::string signature_text(const Ast& tree, const SourceManager& sources, const ast::Decl& decl);

} // namespace tg::cli
