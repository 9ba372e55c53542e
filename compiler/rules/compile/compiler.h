// One rule declaration of the syntax tree, compiled into one Rule: names resolved, the left side to
// patterns, the right side to what is built, conditions and computed attributes to ValueExprs.
//
// A declaration stands for several rules where it has operator variables (`f: unary`) or two
// directions; each is compiled by itself, by one RuleCompiler. The left side is lowered first and
// binds; then the conditions; then the right side, which may only use what is bound. The parts,
// each on those before it: `draft` (the rule that is written), `names`, `calls`
// (arguments at their places), `values` (expressions), `places` (signs and brackets on tensors),
// `left`, `right`. Users include from_ast.h.
#pragma once

#include "compiler/rules/compile/right.h"

namespace tg {

class RuleCompiler {
public:
  /// `swaps`: bit i swaps the operands of the i-th commuting operator that the left side has.
  /// `integers`: that of the two variants of a rule with `x // y` which is for integers.
  RuleCompiler(const Ast& tree, const ast::Decl& decl, OperatorChoice operators, bool reversed,
               uint32_t swaps, DiagnosticSink& sink, bool integers = false);

  /// The rule without name, set and place; nullopt after an error, which the sink then has.
  std::optional<Rule> run();
  /// How many commuting operators the left side has; known after run().
  uint32_t commuting() const { return left_.commuting(); }
  /// Whether tensors are divided by `//`, so that there are two variants; known after run().
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
