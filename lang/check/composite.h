// Operators that a file defines, `op gelu2(x: T[S...]) -> T[S...] = 0.5 * x * …`, where the
// definition is element by element: then a call of one is one node of a graph, a fused_map.
#pragma once

#include "lang/core/fused_body.h"
#include "lang/core/result.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>
#include <string>
#include <vector>

namespace tg {

struct Composite {
  struct Operand {
    llvm::StringRef param; // or, where empty,
    double number = 0;
  };
  FusedBody body;
  std::vector<Operand> operands; // by the numbers in `body`
};

/// The definition over the parameters and numbers; operands are numbered by first use. nullopt
/// where it holds anything but pointwise operators of the table over its tensors and numbers.
/// `declared`: whether the file has a function or operator of a name, which then is not the
/// table's.
std::optional<Composite> pointwise_composite(const Ast& ast, const ast::Decl& op,
                                             llvm::function_ref<bool(llvm::StringRef)> declared);

// `extern op f(x: T[N, S...]) -> T[2 * N, S...]`: what is declared, as the text that the graph
// carries (lang/core/extern_signature.h).

/// The declared type in canonical form. Errors: wrong_kind, where the declaration is not of tensors
/// to one tensor, or computes dimensions with more than arithmetic on names.
Result<std::string> extern_signature(const Ast& ast, const ast::Decl& op);

} // namespace tg
