// Compiles one rule declaration of the syntax tree to one Rule: resolves names, and lowers the left
// side to patterns, the right side to terms, conditions and computed attributes to ValueExprs.
//
// A declaration gives several rules if it has operator variables (`f: unary`) or two directions;
// each is compiled separately by one RuleCompiler. The left side is lowered first and binds
// variables; then the conditions; then the right side, which may only use bound variables. The
// parts, each built on the previous ones: `draft` (the rule under construction), `names`, `calls`
// (arguments in their slots), `values` (expressions), `places` (signs and brackets on tensors),
// `left`, `right`. Include from_ast.h instead of this file.
#pragma once

#include "compiler/rules/compile/right.h"

namespace tg {

class RuleCompiler {
public:
  /// `swaps`: bit i swaps the operands of the i-th commuting operator of the left side.
  /// `integers`: selects the integer variant of a rule with `x // y`.
  RuleCompiler(const Ast& tree, const ast::Decl& decl, OperatorChoice operators, bool reversed,
               uint32_t swaps, DiagnosticSink& sink, bool integers = false);

  /// Returns the rule without name, set and place; nullopt after an error, which is in the sink.
  std::optional<Rule> run();
  /// Number of commuting operators of the left side; known after run().
  uint32_t commuting() const { return left_.commuting(); }
  /// True if tensors are divided by `//`, which gives two variants; known after run().
  bool divides() const { return left_.divides() || right_.divides(); }

private:
  bool sides_agree();

  const Ast& tree_;
  const ast::Decl& decl_;
  bool reversed_;
  RuleErrors errors_;
  RuleDraft draft_;
  RuleNames names_;
  RuleCalls calls_;
  RuleValues values_;
  LeftSide left_;
  RightSide right_;
};

} // namespace tg
