// Expressions over values: conditions, computed attributes, what a list or a `let` names.
#pragma once

#include "compiler/rules/compile/names.h"
#include "lang/core/const_math.h"

namespace tg {

class RuleValues {
public:
  RuleValues(const Ast& tree, RuleNames& names, RuleDraft& draft, RuleErrors& errors)
      : tree_(tree), names_(names), draft_(draft), exprs_(draft.exprs()), errors_(errors) {}

  /// `kind`: of the slot that it is for.
  std::optional<ExprIndex> value(ast::ExprId expr, std::optional<AttrKind> kind = {});
  /// Of `where`. Conjunctions are taken apart, so that each can be tested, and used, by itself.
  bool condition(ast::ExprId expr);

private:
  std::optional<ExprIndex> name(ast::ExprId expr, std::optional<AttrKind> kind);
  std::optional<ExprIndex> word(ast::ExprId expr, std::optional<AttrKind> kind);
  std::optional<ExprIndex> list(ast::ExprId expr);
  std::optional<ExprIndex> index(ast::ExprId expr);
  std::optional<ExprIndex> unary(ast::ExprId expr);
  std::optional<ExprIndex> binary(ast::ExprId expr);
  std::optional<ExprIndex> call(ast::ExprId expr);
  std::optional<ExprIndex> question(ast::ExprId call, ValueExpr::Kind kind, size_t tensors);
  std::optional<ast::ExprId> asked_about(ast::ExprId expr, ValueExpr::Kind kind);
  std::optional<ExprIndex> arithmetic(ast::ExprId call, ConstOp op);
  std::optional<ExprIndex> argument(llvm::StringRef function, const ast::Arg& arg);
  std::nullopt_t unknown_function(const ast::Expr& call);
  bool assume_finite(const ast::Expr& call);

  const Ast& tree_;
  RuleNames& names_;
  RuleDraft& draft_;
  RuleExprs& exprs_;
  RuleErrors& errors_;
};

/// `rank`, `dim`, `weight` …: functions of conditions and computed attributes.
bool is_rule_function(llvm::StringRef name);

} // namespace tg
