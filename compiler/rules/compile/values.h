// Lowers expressions over values: conditions, computed attributes, lists and lets.
#pragma once

#include "compiler/rules/compile/names.h"
#include "lang/core/const_math.h"

namespace tg {

class RuleValues {
public:
  RuleValues(const Ast& tree, RuleNames& names, RuleDraft& draft, RuleErrors& errors)
      : tree_(tree), names_(names), draft_(draft), exprs_(draft.exprs()), errors_(errors) {}

  /// `kind` is the kind of the slot.
  std::optional<ExprIndex> value(ast::ExprId expr, std::optional<AttrKind> kind = {});
  /// Lowers a `where` condition. Conjunctions are split, so that each part can be tested
  /// and used alone.
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
  std::optional<ast::ExprId> queried_parameter(ast::ExprId expr, ValueExpr::Kind kind);
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

/// Returns true for functions of conditions and computed attributes: `rank`, `dim`, `weight` ….
bool is_rule_function(llvm::StringRef name);

} // namespace tg
