// Unfolds user-defined operators inside rules. A rule is compiled over the operators
// of the table alone, so calls of other operators are first replaced in the tree by their form
// in a graph: an elementwise definition by one fused_map, an `extern op` by its node,
// any other definition by the definition itself.
// `unfold(f(x))` always stands for the definition of f, so that a rule set
// can rewrite between an operator and its definition:
//
//   rule gelu2_is(x) { gelu2(x) <=> unfold(gelu2(x)) }
//
// Small powers become products, as in models. A call of a function (`fn`,
// of the file or of a used module) stands for the value of its body at the rule's terms:
// lets and tuples are evaluated, `for` is unrolled, and `if` is decided if its condition uses only
// the rule's literal numbers and words.
// Shapes are unknown when a rule is read, so bodies that depend on them are refused,
// as are weights (`param`) in a body. The `where` of a function becomes a condition of the rule.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// The operators and functions visible to the rules of a file, by name: its own and imported ones.
/// Trees and scopes must outlive all references.
struct OpScope {
  struct Ref {
    const Ast* tree = nullptr;
    ast::DeclId decl;
    const OpScope* home = nullptr; // the scope of the definition
  };
  llvm::StringMap<Ref> ops, fns;

  /// Adds the operators and functions that the tree declares.
  void declare(const Ast& tree);
};

/// Returns the tree with its rules unfolded. A rule that cannot be unfolded is reported
/// and omitted. Texts of the result point into `tree`. Errors:
/// rule_pattern, missing_argument, too_many_arguments, unknown_argument,
/// and those of extern_signature.
Ast unfold_ops(const Ast& tree, const OpScope& scope, DiagnosticSink& sink);

} // namespace tg
