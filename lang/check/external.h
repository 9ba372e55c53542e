// `extern op f(x: T[N, S...]) -> T[2 * N, S...]`: what is declared, as the text that the graph
// carries (lang/core/extern_signature.h).
#pragma once

#include "lang/core/result.h"
#include "lang/syntax/ast.h"

#include <string>

namespace tg {

/// The declared type in canonical form. Errors: wrong_kind, where the declaration is not of tensors
/// to one tensor, or computes dimensions with more than arithmetic on names.
Result<std::string> extern_signature(const Ast& ast, const ast::Decl& op);

} // namespace tg
