// Expressions over values, added to a rule: what its compiler makes of text,
// and of itself.
#pragma once

#include "compiler/rules/rule.h"

#include <optional>

namespace tg {

class RuleExprs {
public:
  explicit RuleExprs(Rule& rule) : rule_(rule) {}

  ExprIndex push(ValueExpr expr);
  ExprIndex literal(Value value);
  ExprIndex integer(int64_t n) { return literal(Value::of_int(n)); }
  ExprIndex variable(uint32_t number);
  ExprIndex of_class(ValueExpr::Kind kind, uint32_t variable,
                     llvm::ArrayRef<ExprIndex> operands = {});
  ExprIndex op(ValueExpr::Kind kind, llvm::ArrayRef<ExprIndex> operands);
  /// a + b and a - b, as a number where that is known.
  ExprIndex plus(ExprIndex a, ExprIndex b);
  ExprIndex minus(ExprIndex a, ExprIndex b);
  /// `list[from:to]`.
  ExprIndex part(ExprIndex list, ExprIndex from, ExprIndex to);
  /// What a slot holds.
  ExprIndex of(const TermAttr& attr);

  bool has_variables(ExprIndex expr) const;
  /// The value of an expression without variables.
  std::optional<Value> folded(ExprIndex expr) const;
  std::optional<int64_t> folded_int(ExprIndex expr) const;

private:
  Rule& rule_;
  mutable Symbols no_symbols_; // without variables an evaluation looks nothing up
};

} // namespace tg
