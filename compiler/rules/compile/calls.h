// Calls of operators in a rule, with arguments assigned to their slots. Required operands come
// first, in order, then attributes by slot; optional operands are given by name.
#pragma once

#include "compiler/rules/compile/names.h"

namespace tg {

struct RuleCall {
  OpKind op{};
  ast::ExprId expr;
  llvm::SmallVector<ast::ExprId, 4> operands; // required ones, or those of a variadic operator
  llvm::SmallVector<ast::ExprId, 2> optional; // by position; invalid if omitted
  llvm::SmallVector<ast::ExprId, 4> attrs;    // by slot; invalid if omitted
  ast::ExprId parts;                          // of a split
  bool rest = false;                          // ends in `..`
};

class RuleCalls {
public:
  RuleCalls(const Ast& tree, RuleNames& names, RuleErrors& errors)
      : tree_(tree), names_(names), errors_(errors) {}

  std::optional<RuleCall> read(ast::ExprId expr);
  std::nullopt_t lacks_attribute(const RuleCall& call, const AttrInfo& attr);
  std::nullopt_t bad_attribute(const RuleCall& call, const AttrInfo& attr, Span span,
                               const Value& given);

private:
  std::nullopt_t unknown_operator(const ast::Expr& call);
  bool read_arguments(RuleCall& call, const ast::Expr& e);
  bool read_variadic(RuleCall& call, const ast::Arg& arg);
  bool read_positional(RuleCall& call, size_t position, const ast::Arg& arg);
  bool read_named(RuleCall& call, const ast::Arg& arg);
  std::nullopt_t unknown_argument(const RuleCall& call, const ast::Arg& arg);

  const Ast& tree_;
  RuleNames& names_;
  RuleErrors& errors_;
};

} // namespace tg
