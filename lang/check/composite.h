// Operators defined in a file, such as `op gelu2(x: T[S...]) -> T[S...] = 0.5 * x * …`.
// If the definition is elementwise, a call of the operator is one node of a graph, a fused_map.
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
    llvm::StringRef param; // if empty, `value`
    double number = 0;
  };
  FusedBody body;
  std::vector<Operand> operands; // by the numbers in `body`
};

/// Returns the definition over the parameters and numbers; operands are numbered by first use.
/// Returns nullopt if it uses anything except the table's pointwise operators on its tensors
/// and numbers.
/// `declared` returns true if the file has a function or operator of that name,
/// which then hides the table's.
std::optional<Composite> pointwise_composite(const Ast& ast, const ast::Decl& op,
                                             llvm::function_ref<bool(llvm::StringRef)> declared);

// The declared type of `extern op f(x: T[N, S...]) -> T[2 * N, S...]`,
// as the text in the graph (lang/core/extern_signature.h).

/// Returns the declared type in canonical form. Errors: wrong_kind,
/// if the declaration does not map tensors to one tensor, or computes dimensions with more
/// than arithmetic on names.
Result<std::string> extern_signature(const Ast& ast, const ast::Decl& op);

} // namespace tg
