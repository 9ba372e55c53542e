// Operators that a file defines, inside its rules. A rule is compiled over the operators of the
// table alone, so calls of others are replaced in the tree before that, by what a graph has for
// them: a definition that is element by element by its one fused_map, an `extern op` by its node,
// any other definition by the definition itself. `unfold(f(x))` stands for the definition of f in
// any case, so that a rule set can ask for a rewrite between an operator and its definition:
//
//   rule gelu2_is(x) { gelu2(x) <=> unfold(gelu2(x)) }
//
// Small powers become products, as they do in models. A call of a function (`fn`, of the file or of
// a module that it uses) stands for the value of its body at the rule's terms: lets and tuples are
// followed, `for` unrolled and `if` decided where they ask for nothing but numbers and words that
// the rule is written with. What a body asks of shapes there is not known when a rule is read, and
// refused, as are the weights (`param`) of a body; its `where` becomes a condition of the rule.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// The operators and functions that the rules of a file see, by name: its own and imported ones.
/// Trees and scopes outlive whoever refers to them.
struct OpScope {
  struct Ref {
    const Ast* tree = nullptr;
    ast::DeclId decl;
    const OpScope* home = nullptr; // what the definition sees
  };
  llvm::StringMap<Ref> ops, fns;

  /// Adds the operators and functions that the tree declares.
  void declare(const Ast& tree);
};

/// The tree with its rules unfolded; what cannot be is reported and left out. Texts of the result
/// point into `tree`. Errors: rule_pattern, missing_argument, too_many_arguments, unknown_argument,
/// and what extern_signature says.
Ast unfold_ops(const Ast& tree, const OpScope& scope, DiagnosticSink& sink);

} // namespace tg
