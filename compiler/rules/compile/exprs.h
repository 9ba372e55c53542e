// Adds expressions over values to a rule, for the text or for the compiler's own needs.
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
  /// Returns a + b and a - b, folded to a number if known.
  ExprIndex plus(ExprIndex a, ExprIndex b);
  ExprIndex minus(ExprIndex a, ExprIndex b);
  /// Returns `list[from:to]`.
  ExprIndex part(ExprIndex list, ExprIndex from, ExprIndex to);
  /// Returns the value of a slot.
  ExprIndex of(const TermAttr& attr);

  bool has_variables(ExprIndex expr) const;
  /// Returns the value of an expression without variables.
  std::optional<Value> folded(ExprIndex expr) const;
  std::optional<int64_t> folded_int(ExprIndex expr) const;

private:
  Rule& rule_;
  mutable Symbols no_symbols_; // unused, since there are no variables
};

} // namespace tg
